/** Languages by the ending of a file name. */
const BY_ENDING: ReadonlyMap<string, string> = new Map(Object.entries({
  'C': 'c h', 'C#': 'cs', 'C++': 'cc cpp cxx hh hpp hxx', 'Clojure': 'clj cljc cljs', 'CSS': 'css less sass scss',
  'Dart': 'dart', 'Elixir': 'ex exs', 'Erlang': 'erl hrl', 'F#': 'fs fsx', 'Go': 'go', 'Haskell': 'hs',
  'HTML': 'htm html', 'Java': 'java', 'JavaScript': 'cjs js jsx mjs', 'JSON': 'json jsonc', 'Julia': 'jl',
  'Kotlin': 'kt kts', 'Lua': 'lua', 'Markdown': 'md mdx', 'Nix': 'nix', 'Objective-C': 'm mm', 'OCaml': 'ml mli',
  'Perl': 'pl pm', 'PHP': 'php', 'Protocol Buffers': 'proto', 'Python': 'ipynb py pyi', 'R': 'r', 'Ruby': 'rb',
  'Rust': 'rs', 'Scala': 'sc scala', 'Shell': 'bash fish sh zsh', 'SQL': 'sql', 'Svelte': 'svelte', 'Swift': 'swift',
  'Terraform': 'tf', 'TOML': 'toml', 'TypeScript': 'cts mts ts tsx', 'Vue': 'vue', 'YAML': 'yaml yml', 'Zig': 'zig',
}).flatMap(([language, endings]) => endings.split(' ').map((ending) => [ending, language] as const)))

/** undefined for files that are not known to be in a language. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const dot = name.lastIndexOf('.')
  return dot < 0 ? undefined : BY_ENDING.get(name.slice(dot + 1).toLowerCase())
}

const TEST_FOLDER = /^(?:__tests__|e2e|specs?|tests?)$/
const TEST_FILE = /(?:[._-](?:test|spec)\.[a-z]+|_test\.(?:go|py|rb)|^test_[^/]*\.py|Tests?\.(?:java|kt|cs))$/

/** The folder of tests that a file belongs to: the uppermost one of that name, or its own folder. */
export function testFolderOf(path: string): string | undefined {
  const names = path.split('/')
  const folder = names.slice(0, -1).findIndex((name) => TEST_FOLDER.test(name))
  if (folder >= 0) return names.slice(0, folder + 1).join('/')
  return TEST_FILE.test(names.at(-1)!) ? names.slice(0, -1).join('/') || '.' : undefined
}
