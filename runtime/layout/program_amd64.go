package layout

// ProgramBits bounds the addresses of the program's memory, whoever allocates it.
const ProgramBits = ProgramBitsAmd64
