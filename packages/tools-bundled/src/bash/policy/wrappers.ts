import { type Word, wordList } from '../parse/plan.ts'
import {
  afterPrefix, commandAtAnyWord, gitScripts, nested, opaque, optionScripts, type PrefixForm, shellScript,
  unreadable, type Wrapped,
} from './nested-commands.ts'

const MAX_DEPTH = 8

type Reader = (args: readonly Word[], name: string) => Wrapped | undefined

const form = (flags = '', values = '', operands = 0): PrefixForm =>
  ({ flags: wordList(flags), values: wordList(values), operands })

/** Programs that change how a command runs, but not what it does. */
const TRANSPARENT: ReadonlyMap<string, PrefixForm> = new Map([
  ['timeout', form('--foreground --preserve-status -v --verbose', '-k --kill-after -s --signal', 1)],
  ['nice', { ...form('', '-n --adjustment'), numbers: true }],
  ['nohup', form()],
  ['stdbuf', form('', '-i -o -e --input --output --error')],
  ['ionice', form('-t', '-c -n --class --classdata')],
  ['time', form('-p -v --portability --verbose')],
])

/** Programs that run a command with other privileges, in another environment, or under observation. */
const OPAQUE: ReadonlyMap<string, PrefixForm> = new Map([
  ['sudo', form('-n -E -H -k -K -S -b -P -A', '-u -g -h -p -C -D -r -t -T -U --user --group')],
  ['doas', form('-n -L', '-u -C')],
  ['pkexec', form('', '--user')],
  ['gosu', form('', '', 1)],
  ['su-exec', form('', '', 1)],
  ['setsid', form('-c -f -w --ctty --fork --wait')],
  ['setpriv', form('--no-new-privs --clear-groups --reset-env', '--reuid --regid --pdeathsig')],
  ['chroot', form('', '--userspec --groups', 1)],
  ['unshare', form('-r -m -n -p -u -i -f -U --fork --map-root-user --mount --net --pid --user')],
  ['nsenter', form('-a -m -n -p -u -i -U', '-t --target')],
  ['flock', form('-s -x -n -u -e', '-w -E', 1)],
  ['taskset', form('-c -p', '', 1)],
  ['chrt', form('-b -f -i -o -r', '', 1)],
  ['strace', form('-f -ff -c -C -t -tt -T -v -y', '-e -o -s -P')],
  ['ltrace', form('-f -c -S', '-e -o -s')],
  ['perf', form('', '', 1)],
  ['xvfb-run', form('-a', '-s -n')],
  ['cgexec', form('', '-g')],
  ['systemd-run', form('--user --scope --pty -t -q --wait')],
  ['exec', form('-c -l', '-a')],
  ['command', form('-p -v -V')],
  ['npx', form('-y --yes --no -q --no-install', '-p --package')],
  ...wordList(
    'valgrind unbuffer rlwrap fakeroot dbus-run-session catchsegv tini dumb-init busybox toybox prlimit bunx uvx '
      + 'cross-env',
  ).map((name) => [name, form()] as const),
])

/** Subcommands that are followed by a command. */
const SUBCOMMANDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['npm', ['exec', 'x']], ['pnpm', ['exec', 'dlx']], ['yarn', ['exec', 'dlx']], ['bun', ['x']], ['poetry', ['run']],
  ['pipenv', ['run']], ['uv', ['run']], ['bundle', ['exec']], ['direnv', ['exec']],
])

/** Programs with too many options to parse, or that run commands on another machine or in a container. */
const REMOTE_OR_ISOLATED: ReadonlySet<string> = new Set(wordList(
  'ssh docker podman kubectl nerdctl lxc vagrant bwrap firejail proot gdb lldb expect start-stop-daemon runuser entr '
    + 'screen tmux at batch',
))

/** Programs that join their arguments and pass them to a shell. */
const JOINED: ReadonlySet<string> = new Set(['parallel', 'watch', 'hyperfine', 'script', 'su'])

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['env', readEnv],
  ['xargs', readXargs],
  ['find', readFind],
  ['git', (args) => gitScripts(args)],
  ...[...JOINED].map((name) => [name, readJoined] as const),
])

/** The commands that a program runs. Undefined if it runs none. */
export function unwrap(words: readonly Word[]): Wrapped | undefined {
  const program = words[0]?.text ?? ''
  const name = baseName(program)
  const wrapped = unwrapProgram(name, words.slice(1))
  // A file at another path may have the name of a wrapper and do anything.
  return wrapped && name !== program ? { ...wrapped, transparent: false } : wrapped
}

function unwrapProgram(name: string, args: readonly Word[]): Wrapped | undefined {
  const script = shellScript(name, args)
  if (script !== undefined) return script
  const reader = READERS.get(name)
  if (reader) return reader(args, name)
  const known = TRANSPARENT.get(name) ?? OPAQUE.get(name)
  if (known) return prefixed(args, name, known, TRANSPARENT.has(name))
  const subcommand = args[0]?.text ?? ''
  if (SUBCOMMANDS.get(name)?.includes(subcommand) === true) return prefixed(args.slice(1), name, form(), false)
  if (REMOTE_OR_ISOLATED.has(name)) return commandAtAnyWord(args)
  return optionScripts(name, args)
}

/** Rules match programs by name, wherever they are installed. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function prefixed(args: readonly Word[], name: string, known: PrefixForm, transparent: boolean): Wrapped {
  const rest = afterPrefix(args, known)
  if (rest === undefined) return unreadable(args, `\`${name}\` has an unknown option or value`)
  return { inner: rest.length === 0 ? [] : [nested(rest)], scripts: [], transparent: transparent && rest.length > 0 }
}

function readEnv(args: readonly Word[]): Wrapped | undefined {
  const rest = afterPrefix(args, form('-i --ignore-environment -', '-u --unset -C --chdir'))
  if (rest === undefined) return unreadable(args, '`env` has an unknown option or value')
  const at = rest.findIndex(({ text }) => !/^[^=]+=/.test(text))
  const command = at < 0 ? [] : rest.slice(at)
  const harmless = (at < 0 ? rest : rest.slice(0, at)).every(({ text }) =>
    isHarmlessVariable(text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)))
  const plain = rest.length === args.length && command.length > 0
  return { inner: command.length === 0 ? [] : [nested(command)], scripts: [], transparent: plain && harmless }
}

function readXargs(args: readonly Word[]): Wrapped {
  const rest = afterPrefix(args, form(
    '-0 -r -t -p -x --null --no-run-if-empty --verbose --exit --interactive',
    '-I -n -P -L -d -s -E -a --max-args --max-procs --delimiter --arg-file',
  ))
  if (rest === undefined) return unreadable(args, '`xargs` has an unknown option or value')
  return opaque([nested(rest.length === 0 ? [{ text: 'echo' }] : rest)])
}

function readFind(args: readonly Word[]): Wrapped | undefined {
  const inner = args.flatMap(({ text }, index) => {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(text)) return []
    const rest = args.slice(index + 1)
    const end = rest.findIndex((word, at) => word.text === ';' || (word.text === '+' && rest[at - 1]?.text === '{}'))
    return [nested(end < 0 ? rest : rest.slice(0, end))]
  }).filter(({ words }) => words.length > 0)
  return inner.length === 0 ? undefined : opaque(inner)
}

function readJoined(args: readonly Word[], name: string): Wrapped {
  const words = args.map(({ text }) => text)
  const joined = words.filter((word) => !word.startsWith('-')).join(' ')
  const scripts = [joined, ...words.filter((word) => word.includes(' '))]
  return {
    ...commandAtAnyWord(args), scripts,
    ...(words.length === 0 ? {} : { unread: `\`${name}\` passes its arguments to a shell` }),
  }
}

const HARMLESS_VARIABLE = /^(?:NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|CI|LANG|LC_[A-Z]+|TZ|COLUMNS|LINES|TERM)$/
/** Excludes paths, because some of these variables can name files. */
const PLAIN_VALUE = /^[\w.:@+-]*$/

/** Whether a variable affects only how output is formatted. */
const isHarmlessVariable = (name: string, value: string): boolean =>
  HARMLESS_VARIABLE.test(name) && PLAIN_VALUE.test(value)

/** Removes all transparent wrappers, such as `timeout 5`. */
export function innermost(words: readonly Word[]): readonly Word[] {
  let at = words
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const wrapped = unwrap(at)
    const [inner] = wrapped?.inner ?? []
    if (wrapped?.transparent !== true || inner === undefined) return at
    at = inner.words
  }
  // Nested too deeply: treat it as the outermost program.
  return words
}
