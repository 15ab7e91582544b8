import { basename } from 'node:path'

/** A common language server. `command` starts it without further settings. */
interface KnownServer {
  readonly name: string
  readonly command: readonly string[]
  readonly suffixes: readonly string[]
  /** How to get it. */
  readonly install: string
}

const SCRIPTS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs']

const KNOWN: readonly KnownServer[] = [
  {
    name: 'typescript', command: ['typescript-language-server', '--stdio'], suffixes: SCRIPTS,
    install: 'npm install -g typescript-language-server typescript',
  },
  { name: 'rust', command: ['rust-analyzer'], suffixes: ['.rs'], install: 'rustup component add rust-analyzer' },
  {
    name: 'python', command: ['pyright-langserver', '--stdio'], suffixes: ['.py', '.pyi'],
    install: 'npm install -g pyright',
  },
  { name: 'go', command: ['gopls'], suffixes: ['.go'], install: 'go install golang.org/x/tools/gopls@latest' },
  {
    name: 'cpp', command: ['clangd'], suffixes: ['.c', '.h', '.cc', '.cpp', '.cxx', '.hpp', '.hh', '.m', '.mm'],
    install: 'install the package clangd of your system',
  },
]

/** The compiler of TypeScript 7 is a language server, too. */
const NATIVE_TYPESCRIPT: ReadonlySet<string> = new Set(['tsc', 'tsgo'])

/** The files of a server whose entry does not name them; empty if it is not known. */
export function knownSuffixes(command: readonly string[]): readonly string[] {
  const named = command.map((part) => basename(part).replace(/\.(?:[cm]?js|exe)$/, ''))
  const isNative = command.includes('--lsp') && named.some((name) => NATIVE_TYPESCRIPT.has(name))
  if (isNative) return SCRIPTS
  return KNOWN.find(({ command: [program] }) => named.slice(0, 2).includes(program!))?.suffixes ?? []
}

/** What to add to the configuration for a file, as the end of a message. */
export function adviceFor(path: string): string {
  const known = KNOWN.find(({ suffixes }) => suffixes.some((suffix) => path.toLowerCase().endsWith(suffix)))
  if (known === undefined) {
    const [suffix = '.ext'] = /\.[^./]+$/.exec(basename(path)) ?? []
    const keys = `"command" and "suffixes": [${JSON.stringify(suffix)}]`
    return `Add one with ${keys} to "lsp" in the configuration of the user.`
  }
  const entry = JSON.stringify({ lsp: { [known.name]: { command: known.command } } })
  return `Install one (${known.install}), then add ${entry} to the configuration of the user.`
}

const LANGUAGES: ReadonlyMap<string, string> = new Map([
  ['.ts', 'typescript'], ['.mts', 'typescript'], ['.cts', 'typescript'], ['.tsx', 'typescriptreact'],
  ['.js', 'javascript'], ['.mjs', 'javascript'], ['.cjs', 'javascript'], ['.jsx', 'javascriptreact'],
  ['.rs', 'rust'], ['.py', 'python'], ['.pyi', 'python'], ['.go', 'go'], ['.c', 'c'], ['.h', 'c'], ['.cc', 'cpp'],
  ['.cpp', 'cpp'], ['.cxx', 'cpp'], ['.hpp', 'cpp'], ['.hh', 'cpp'], ['.m', 'objective-c'], ['.mm', 'objective-cpp'],
  ['.sh', 'shellscript'], ['.bash', 'shellscript'], ['.yml', 'yaml'], ['.md', 'markdown'], ['.rb', 'ruby'],
  ['.kt', 'kotlin'], ['.cs', 'csharp'], ['.hs', 'haskell'], ['.ex', 'elixir'], ['.exs', 'elixir'], ['.pl', 'perl'],
])

/** The language of a file in the words of the protocol. Most are the end of the file name. */
export function languageOf(path: string): string {
  const [suffix = ''] = /\.[^./]+$/.exec(path.toLowerCase()) ?? []
  return LANGUAGES.get(suffix) ?? (suffix.slice(1) || 'plaintext')
}
