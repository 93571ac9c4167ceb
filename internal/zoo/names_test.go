package zoo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
)

// What the repository has, for the pages in docs that name it.

const root = "../.."

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// known collects the names of each kind that the repository has.
func known(t *testing.T) map[string]map[string]bool {
	t.Helper()
	names := map[string]map[string]bool{}
	for _, kind := range fieldKinds {
		names[kind] = map[string]bool{}
	}
	for _, g := range matrix.Groups() {
		for _, r := range matrix.RowsOf(g) {
			names["row"][r.Name] = true
		}
	}
	for _, s := range append(Faulty(), Right()...) {
		names["subject"][s.Name] = true
		for _, inv := range rulesOf(s) {
			names["invariant"][inv.Name] = true
		}
	}
	for _, file := range sources(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		kind := "API"
		if strings.HasSuffix(file, "_test.go") {
			kind = "test"
		}
		for _, name := range declared(parsed) {
			names[kind][filepath.ToSlash(dir)+"."+name] = true
		}
	}
	return names
}

// rulesOf lists the rules that the subject is held to.
func rulesOf(s Specimen) []invariants.Invariant {
	return append(slices.Clone(s.Adapter.Invariants), implied(s)...)
}

// implied lists those of them that follow from what is declared.
func implied(s Specimen) []invariants.Invariant {
	if s.Adapter.Repeats != nil {
		return s.Adapter.Repeats.Invariants()
	}
	return s.Adapter.Contract().Invariants()
}

// sources lists the files of the module whose names end in ext.
func sources(t *testing.T, ext string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir // other tests write there
		case !d.IsDir() && strings.HasSuffix(path, ext):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// declared lists the exported names of a file: functions, types, their methods
// and fields, constants and variables.
func declared(f *ast.File) (names []string) {
	add := func(owner, name string) {
		if ast.IsExported(name) && (owner == "" || ast.IsExported(owner)) {
			names = append(names, strings.TrimPrefix(owner+"."+name, "."))
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(receiver(d), d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				declaredBy(spec, add)
			}
		}
	}
	return names
}

func declaredBy(spec ast.Spec, add func(owner, name string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			add("", n.Name)
		}
	case *ast.TypeSpec:
		add("", spec.Name.Name)
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, n := range field.Names {
					add(spec.Name.Name, n.Name)
				}
			}
		}
	}
}

// receiver is the name of the type that a method has; empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	if g, ok := typ.(*ast.IndexListExpr); ok {
		typ = g.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return "?" // no such type is exported
}
