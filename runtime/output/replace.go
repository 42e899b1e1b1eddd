package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// How a file is replaced. While the new one is written, the old one has the name, and this
// process its lock; the new one lies beside it under a name of its own and then takes the
// name over, with the mode and owner of the old one. So a full disk, a limit or a crash
// costs nobody the old file, and who reads the name finds one of the two, whole.
//
// A file is written in place instead
//
//	when its name was free: there is nothing to lose, and a failure removes it
//	when no other could stand in for it: it has several names, access lists, or an owner
//	that this process cannot give
//	when its folder takes no new file from this process

// begin prepares the locked file for what will be written.
func (f *File) begin(info *unix.Stat_t) error {
	if f.made {
		return nil
	}
	if info.Nlink == 1 && !hasAttributes(f.held) {
		err := f.beginBeside(info)
		if err == nil || !inPlaceInstead(err) {
			return err
		}
	}
	return f.Truncate(0)
}

// inPlaceInstead tells a folder that takes no file from one that has no room.
func inPlaceInstead(err error) bool {
	for _, why := range []error{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EEXIST, syscall.ENAMETOOLONG,
		syscall.EINVAL, syscall.ENOTSUP} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// hasAttributes tells of access lists and the like, which a new file would lack.
func hasAttributes(fd int) bool {
	const ofTheFolder = "security.selinux\x00" // a new file has that, too
	names := make([]byte, 1024)
	n, err := unix.Flistxattr(fd, names)
	return err == syscall.ERANGE || err == nil && n > 0 && string(names[:n]) != ofTheFolder
}

// beginBeside makes the file that will replace the held one.
func (f *File) beginBeside(info *unix.Stat_t) error {
	folder, name := filepath.Split(f.target)
	temporary := folder + "." + name + ".tl_runtime"
	_ = unix.Unlink(temporary) // of a process that ended while it wrote: the lock of the name is ours
	fd, err := openFile(temporary, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var own unix.Stat_t
	err = unix.Fstat(fd, &own)
	if err == nil && (own.Uid != info.Uid || own.Gid != info.Gid) {
		err = unix.Fchown(fd, int(info.Uid), int(info.Gid))
	}
	if err == nil {
		err = unix.Fchmod(fd, uint32(info.Mode)&0o7777)
	}
	if err == nil {
		_ = flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) // nobody else knows the file
		f.fd, f.temporary = fd, temporary
		return nil
	}
	closeFile(fd)
	_ = unix.Unlink(temporary)
	return f.problem("replace", err)
}

// Publish gives the file its name. What is written later goes to the same file.
func (f *File) Publish() error {
	if err := f.settle(); err != nil {
		return err
	}
	f.made = false
	if f.temporary == "" {
		return nil
	}
	if unix.Rename(f.temporary, f.target) != nil {
		return f.copyBack() // the name may be a place where something is mounted
	}
	f.letGo(f.held)
	f.held, f.temporary = f.fd, ""
	return nil
}

// settle asks a file system that writes when a file is closed, such as NFS, what became of it.
func (f *File) settle() error {
	again, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, layout.FirstDescriptor)
	if err != nil {
		return nil // no descriptor is left; nothing was lost by that
	}
	if err = unix.Close(again); err == syscall.EINTR {
		return nil
	}
	return f.problem("close", err)
}

// copyBack writes the new content into the old file.
func (f *File) copyBack() error {
	from := os.NewFile(uintptr(f.fd), f.temporary)
	defer from.Close()
	_ = unix.Unlink(f.temporary)
	f.fd, f.temporary = f.held, ""
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(struct{ io.Writer }{f}, from)
	return err
}

// discard removes what has no name yet.
func (f *File) discard() {
	var info unix.Stat_t
	switch {
	case f.temporary != "":
		_ = unix.Unlink(f.temporary)
	case f.made && !f.stream && unix.Fstat(f.fd, &info) == nil && hasName(f.target, &info):
		_ = unix.Unlink(f.target)
	}
	f.temporary, f.made = "", false
}
