package main

import (
	"os"
	"path/filepath"
	"testing"
)

// How wide a character is drawn.
const (
	charWidth = 6.2
	titleChar = 8.6
)

func TestPicturesTellWhatTheRuntimeDoes(t *testing.T) {
	for _, s := range stories() {
		picture, err := s.draw()
		if err != nil {
			t.Error(err)
			continue
		}
		file, err := os.ReadFile(filepath.Join("..", "..", s.path()))
		if err != nil || string(file) != picture {
			t.Errorf("%s is stale; run `go run ./tools/charts`", s.path())
		}
	}
}

func TestTextsFit(t *testing.T) {
	const room = column - 8
	for _, s := range stories() {
		if float64(len(s.title))*titleChar > s.x(len(s.steps))-left {
			t.Errorf("%s: the title is wider than the picture", s.name)
		}
		for _, step := range s.steps {
			labels := []string{step.verb, step.detail}
			for _, holders := range step.holders {
				labels = append(labels, holders...)
			}
			for _, label := range labels {
				if float64(len(label))*charWidth > room {
					t.Errorf("%s: %q is wider than its column", s.name, label)
				}
			}
		}
	}
}

func TestAWrongPictureIsNoticed(t *testing.T) {
	s := scopeStory()
	s.steps[2].holders[0] = held("scope")
	if s.play() == nil {
		t.Error("a picture that leaves a holder out was accepted")
	}
}
