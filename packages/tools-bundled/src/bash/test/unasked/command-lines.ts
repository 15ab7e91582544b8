import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import type { PlantedWorkspace } from './planted-workspace.ts'

/** Programs that are judged to only read in some of their uses, and wrappers around them. */
const PROGRAMS = [
  'ls', 'cat', 'head', 'tail', 'wc', 'nl', 'diff', 'tac', 'rev', 'cut', 'sort', 'uniq', 'comm', 'cmp', 'paste',
  'column', 'fold', 'stat', 'file', 'du', 'df', 'tree', 'realpath', 'readlink', 'md5sum', 'sha256sum', 'cksum',
  'base64', 'xxd', 'zcat', 'hexdump', 'od', 'strings', 'grep', 'rg', 'find', 'sed', 'awk', 'jq', 'tar', 'date', 'tr',
  'seq', 'basename', 'which', 'whereis', 'hostname', 'id', 'locale', 'timeout', 'nice', 'stdbuf',
]
const WRAPPERS: ReadonlySet<string> = new Set(['timeout', 'nice', 'stdbuf'])
const GIT = [
  'status', 'diff', 'log', 'show', 'shortlog', 'branch', 'tag', 'rev-parse', 'rev-list', 'ls-files', 'ls-tree',
  'merge-base', 'describe', 'remote', 'reflog', 'count-objects', 'blame', 'grep', 'stash list', 'cat-file',
  'worktree list', 'for-each-ref', 'show-ref', 'name-rev', 'symbolic-ref', 'cherry', 'version',
].map((subcommand) => `git ${subcommand}`)

/** The commands that this machine has. */
export const COMMANDS: readonly string[] = [
  ...PROGRAMS.filter((name) => spawnSync('which', [name]).status === 0), ...GIT,
]

/** Long options of git, which its short help does not list. */
const GIT_OPTIONS = [
  'output', 'ext-diff', 'textconv', 'no-index', 'contents', 'ignore-revs-file', 'open-files-in-pager', 'pretty',
  'format', 'unified', 'stat', 'color', 'color-words', 'word-diff', 'skip', 'abbrev', 'submodule', 'ignore-submodules',
  'recurse-submodules', 'show-signature', 'find-renames', 'max-count', 'since', 'until', 'author', 'grep', 'date',
  'diff-filter', 'decorate', 'untracked-files', 'porcelain', 'ignored', 'exclude', 'exclude-from', 'short', 'merged',
  'no-merged', 'contains', 'points-at', 'sort', 'delete', 'edit-description', 'set-upstream-to', 'dirty', 'exec',
  'oneline', 'all', 'patch', 'name-only', 'relative', 'line-prefix', 'match', 'hash', 'cached', 'verify', 'count',
  'max-depth', 'context',
]
/** Words of programs with a syntax of their own. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  find: [
    '-name', '-type', '-exec', '-execdir', '-ok', '-delete', '-fprint', '-fprintf', '-fls', '-print', '-ls', '-newer',
    '-samefile', '-path', '-maxdepth', '-mtime', '-size', '-perm', '-printf', '-follow', '-L', '-files0-from', '-D',
    '!', '(', ')', '-o', '{}', '+', ';', 'grep', 'wc', 'f', '-1', '-quit',
  ],
  xxd: ['-r', '-as', '-ps', '-seek', '-autoskip', '-revert', '-include', '-len'],
  tar: [
    'tf', 'tzf', '-tf', '-tzf', 'xf', 'tIf', 'tFf', '-I', '-C', '--to-command', '--use-compress-program',
    '--checkpoint-action', '--checkpoint', '--index-file', '-T', '-x',
  ],
  tree: ['-Io', '-o', '-L', '-I', '-P', '--fromfile', '--info'],
  rg: ['--pre', '--files', '--ignore-file', '--hostname-bin', '--search-zip'],
  jq: ['-f', '-L', '--from-file', '--rawfile', '--slurpfile', '--argfile', '--arg', '--args', '--seq', '-rf'],
}
/** What waits for a signal. */
const WAITS: Readonly<Record<string, RegExp>> = { tail: /^-[a-zA-Z0-9]*[fF]|^--(?:fo|re)/ }
const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')

/** The long options that a program lists itself. */
function longOptions(program: string): readonly string[] {
  const { stdout, stderr } = spawnSync(program, ['--help'], { encoding: 'utf8', timeout: 20_000 })
  return [...new Set(Array.from(`${stdout}${stderr}`.matchAll(/--([a-z][\w-]+)/g), ([, name]) => name!))]
}

/**
 * Lines of a command as an attacker would write them: options in forms that are easy to misread, before words that must
 * not be read
 * as options or files. Options that `isUnasked` accepts are used most, because only lines of these run.
 */
export function linesOf(
  command: string, planted: PlantedWorkspace, isUnasked: (words: readonly string[]) => boolean,
): fc.Arbitrary<readonly string[]> {
  const { canary, absent } = planted
  const [program = '', ...subcommand] = command.split(' ')
  const head = [program, ...subcommand]
  const tail = WRAPPERS.has(program) ? ['touch', absent] : []
  const accepts = (option: string): boolean =>
    [[], ['1'], ['1', 'a.txt']].some(
      (rest) => isUnasked([...head, option, ...rest]) || isUnasked([...head, `${option}=1`, ...rest]),
    )
  const names = program === 'git' ? GIT_OPTIONS : longOptions(program)
  const [shorts, longs] = [
    LETTERS.filter((letter) => accepts(`-${letter}`)), names.filter((name) => accepts(`--${name}`)),
  ]
  const anyOf = (known: readonly string[], all: readonly string[]): fc.Arbitrary<string> =>
    fc.oneof(...(known.length === 0 ? [] : [{ weight: 8, arbitrary: fc.constantFrom(...known) }]), {
      weight: 1, arbitrary: fc.constantFrom(...all, 'x'),
    })
  const attached = fc.constantFrom('', '', '5', canary, `=${canary}`, `--output=${absent}`)
  const short = fc
    .tuple(fc.array(anyOf(shorts, LETTERS), { minLength: 1, maxLength: 3 }), attached)
    .map(([letters, value]) => `-${letters.join('')}${value}`)
  const long = fc
    .tuple(anyOf(longs, names), fc.constantFrom('', '', '=5', `=${canary}`), fc.constantFrom(0, 0, 0, 1, 3))
    .map(([name, value, cut]) => `--${name.slice(0, Math.max(2, name.length - cut))}${value}`)
  const inside = fc.constantFrom(...INSIDE_WORDS)
  const hostile = fc.constantFrom(...hostileWords(planted))
  const own = WORDS[program]
  const option = fc.oneof(short, long, ...(own === undefined ? [] : [fc.constantFrom(...own)]))
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(option, hostile) }, { weight: 1, arbitrary: fc.tuple(option) },
    { weight: 2, arbitrary: fc.tuple(inside) }, { weight: 1, arbitrary: fc.tuple(hostile) },
  )
  const waits = WAITS[program]
  const words = fc
    .array(part, { minLength: 1, maxLength: 3 })
    .map((parts) => parts.flat().filter((one) => waits?.test(one) !== true))
  const script = scriptsOf(program, canary, absent)
  if (script === undefined) return words.map((rest) => [...head, ...rest, ...tail])
  return fc
    .tuple(words, script, fc.nat({ max: 3 }))
    .map(([rest, one, at]) => [...head, ...rest.slice(0, at), one, ...rest.slice(at)])
}

/** Files, links and other words of the planted workspace. */
export const INSIDE_WORDS: readonly string[] = [
  'a.txt', 'b.txt', 'src', 'names', 'x.tgz', 'x', 'package.json', '.', 'link', 'linked', 'sub', 'HEAD', 'v1', '5',
  '1,2',
]

/** Words that do harm if a program reads them as an option or a file while we take them for the value of an option. */
export const hostileWords = ({ canary, absent }: PlantedWorkspace): readonly string[] => [
  canary, absent, '../outside/canary', `--output=${absent}`, `--to-file=${canary}`, `--contents=${canary}`,
  `--files0-from=${canary}`, `--file=${canary}`, `-o${absent}`, '-o', `-f${canary}`, '-f', '-r', '@names',
  '--compress-program=../outside/evil', '--pre=../outside/evil', '--ext-diff', '--textconv', '--no-index', 'new.txt',
  'b.txt',
]

/** Scripts that write, run or read elsewhere, some of them in disguise. */
function scriptsOf(program: string, canary: string, absent: string): fc.Arbitrary<string> | undefined {
  const joined = (separators: readonly string[], parts: readonly string[]): fc.Arbitrary<string> =>
    fc
      .array(fc.tuple(fc.constantFrom(...parts), fc.constantFrom(...separators)), { minLength: 1, maxLength: 4 })
      .map((all) => all.flat().join(''))
  switch (program) {
    case 'sed':
      return joined(
        [';', '\n', '', ' '],
        [
          'p', '1,2p', '/one/p', 's/o/x/', `s/o/x/w ${absent}`, `w ${absent}`, `r ${canary}`, `R ${canary}`,
          `1e touch ${absent}`, `s|one|touch ${absent}|e`, `W ${absent}`, 'y/o/x/', '$!d', '{', '}', '/[/]/',
          's/[/]/x/', 'a\\', '\\', '1!', 's,o,x,', '/o/I,/t/', 'n', 'l', 'q', ':x',
        ],
      )
    case 'awk':
      return joined(
        ['', ';', ' ', '\n'],
        [
          '{print}', `{print > "${absent}"}`, `{system("touch ${absent}")}`,
          `BEGIN{while((getline l < "${canary}")>0)print l}`, `{print | "touch ${absent}"}`, 'BEGIN{', '}', '/a|b/',
          '$1 > 2', `"cat ${canary}" | getline`, `ARGV[1]="${canary}"`, '1', 'NR==1', `print > "${absent}"`,
          `printf "x" >> "${absent}"`, '#', '/{/', '||', '>=',
        ],
      )
    case 'jq':
      return joined(
        ['', '|', ' ', ','],
        [
          '.', '.name', 'input', `import "${canary}" as $x; .`, `include "${canary}"; .`, 'input_filename',
          'modulemeta', '"names"', 'debug', '(', ')',
        ],
      )
    default:
      return undefined
  }
}
