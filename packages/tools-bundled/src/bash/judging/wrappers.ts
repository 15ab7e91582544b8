import type { Word } from '../reading/plan.ts'
import { isHarmlessVariable } from './variables.ts'
import { afterPrefix, anywhere, opaque, runs, unreadable, type PrefixForm, type Wrapped } from './unwrap.ts'
import { shellScript } from './shell-programs.ts'
import { gitScripts, optionScripts } from './script-options.ts'

type Reader = (args: readonly Word[], name: string) => Wrapped | undefined

/** Programs that change how a command runs and not what it does. */
const TRANSPARENT: ReadonlyMap<string, PrefixForm> = new Map([
  ['timeout', { flags: ['--foreground', '--preserve-status', '-v', '--verbose'], values: ['-k', '--kill-after', '-s', '--signal'], operands: 1 }],
  ['nice', { values: ['-n', '--adjustment'], numbers: true }],
  ['nohup', {}],
  ['stdbuf', { values: ['-i', '-o', '-e', '--input', '--output', '--error'] }],
  ['ionice', { flags: ['-t'], values: ['-c', '-n', '--class', '--classdata'] }],
  ['time', { flags: ['-p', '-v', '--portability', '--verbose'] }],
])

/** Programs that run a command with other rights, elsewhere, watched, or again. */
const OPAQUE: ReadonlyMap<string, PrefixForm> = new Map<string, PrefixForm>([
  ['sudo', { flags: ['-n', '-E', '-H', '-k', '-K', '-S', '-b', '-P', '-A'], values: ['-u', '-g', '-h', '-p', '-C', '-D', '-r', '-t', '-T', '-U', '--user', '--group'] }],
  ['doas', { flags: ['-n', '-L'], values: ['-u', '-C'] }],
  ['pkexec', { values: ['--user'] }],
  ['gosu', { operands: 1 }],
  ['su-exec', { operands: 1 }],
  ['setsid', { flags: ['-c', '-f', '-w', '--ctty', '--fork', '--wait'] }],
  ['setpriv', { flags: ['--no-new-privs', '--clear-groups', '--reset-env'], values: ['--reuid', '--regid', '--pdeathsig'] }],
  ['chroot', { values: ['--userspec', '--groups'], operands: 1 }],
  ['unshare', { flags: ['-r', '-m', '-n', '-p', '-u', '-i', '-f', '-U', '--fork', '--map-root-user', '--mount', '--net', '--pid', '--user'] }],
  ['nsenter', { flags: ['-a', '-m', '-n', '-p', '-u', '-i', '-U'], values: ['-t', '--target'] }],
  ['flock', { flags: ['-s', '-x', '-n', '-u', '-e'], values: ['-w', '-E'], operands: 1 }],
  ['taskset', { flags: ['-c', '-p'], operands: 1 }],
  ['chrt', { flags: ['-b', '-f', '-i', '-o', '-r'], operands: 1 }],
  ['strace', { flags: ['-f', '-ff', '-c', '-C', '-t', '-tt', '-T', '-v', '-y'], values: ['-e', '-o', '-s', '-P'] }],
  ['ltrace', { flags: ['-f', '-c', '-S'], values: ['-e', '-o', '-s'] }],
  ['valgrind', {}],
  ['perf', { operands: 1 }],
  ['unbuffer', { flags: ['-p'] }],
  ['rlwrap', {}],
  ['fakeroot', {}],
  ['xvfb-run', { flags: ['-a'], values: ['-s', '-n'] }],
  ['dbus-run-session', {}],
  ['catchsegv', {}],
  ['tini', {}],
  ['dumb-init', {}],
  ['busybox', {}],
  ['toybox', {}],
  ['prlimit', { values: [] }],
  ['cgexec', { values: ['-g'] }],
  ['systemd-run', { flags: ['--user', '--scope', '--pty', '-t', '-q', '--wait'] }],
  ['coproc', {}],
  ['npx', { flags: ['-y', '--yes', '--no', '-q', '--no-install'], values: ['-p', '--package'] }],
  ['bunx', {}],
  ['uvx', {}],
  ['dotenv', { flags: ['--'], values: ['-e'] }],
  ['cross-env', {}],
])

/** Programs whose first word says that a command follows. */
const SUBCOMMANDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['npm', new Set(['exec', 'x'])], ['pnpm', new Set(['exec', 'dlx'])], ['yarn', new Set(['exec', 'dlx'])], ['bun', new Set(['x'])],
  ['poetry', new Set(['run'])], ['pipenv', new Set(['run'])], ['uv', new Set(['run'])], ['bundle', new Set(['exec'])], ['direnv', new Set(['exec'])],
])

/** Those whose options are too many, or that run a text on another machine or in another world. */
const ELSEWHERE: ReadonlySet<string> = new Set(['ssh', 'docker', 'podman', 'kubectl', 'nerdctl', 'lxc', 'vagrant', 'bwrap', 'firejail', 'proot', 'gdb', 'lldb', 'expect', 'start-stop-daemon', 'runuser', 'entr', 'screen', 'tmux', 'at', 'batch'])

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['env', readEnv],
  ['xargs', readXargs],
  ['find', readFind],
  ['git', (args) => gitScripts(args)],
  ...['parallel', 'watch', 'hyperfine', 'script', 'su'].map((name) => [name, readJoined] as const),
])

/** What a program runs besides itself, when it is one that runs others; undefined for any other. */
export function unwrap(words: readonly Word[]): Wrapped | undefined {
  const program = words[0]?.text ?? ''
  const name = baseName(program)
  const wrapped = unwrapProgram(name, words.slice(1))
  // A file that only has the name of a wrapper may do anything.
  return wrapped && name !== program ? { ...wrapped, transparent: false } : wrapped
}

function unwrapProgram(name: string, args: readonly Word[]): Wrapped | undefined {
  const script = shellScript(name, args)
  if (script !== undefined) return script
  const reader = READERS.get(name)
  if (reader) return reader(args, name)
  const form = TRANSPARENT.get(name) ?? OPAQUE.get(name)
  if (form) return prefixed(args, name, form, TRANSPARENT.has(name))
  const subcommand = args[0]?.text ?? ''
  if (SUBCOMMANDS.get(name)?.has(subcommand) === true) return prefixed(args.slice(1), name, {}, false)
  if (ELSEWHERE.has(name)) return anywhere(args)
  return optionScripts(name, args)
}

/** Rules speak of a program, wherever it lies. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function prefixed(args: readonly Word[], name: string, form: PrefixForm, transparent: boolean): Wrapped {
  const rest = afterPrefix(args, form)
  if (rest === undefined) return unreadable(args, `an option of \`${name}\` is not known here`)
  return { inner: rest.length === 0 ? [] : [runs(rest)], scripts: [], transparent: transparent && rest.length > 0 }
}

function readEnv(args: readonly Word[]): Wrapped | undefined {
  const rest = afterPrefix(args, { flags: ['-i', '--ignore-environment', '-'], values: ['-u', '--unset', '-C', '--chdir'] })
  if (rest === undefined) return unreadable(args, 'an option of `env` is not known here')
  const at = rest.findIndex(({ text }) => !/^[^=]+=/.test(text))
  const command = at < 0 ? [] : rest.slice(at)
  const names = (at < 0 ? rest : rest.slice(0, at)).map(({ text }) => text.slice(0, text.indexOf('=')))
  const plain = rest.length === args.length && command.length > 0
  return { inner: command.length === 0 ? [] : [runs(command)], scripts: [], transparent: plain && names.every(isHarmlessVariable) }
}

function readXargs(args: readonly Word[]): Wrapped {
  const rest = afterPrefix(args, {
    flags: ['-0', '-r', '-t', '-p', '-x', '--null', '--no-run-if-empty', '--verbose', '--exit', '--interactive'],
    values: ['-I', '-n', '-P', '-L', '-d', '-s', '-E', '-a', '-i', '--max-args', '--max-procs', '--replace', '--delimiter', '--arg-file', '--max-lines'],
  })
  if (rest === undefined) return unreadable(args, 'an option of `xargs` is not known here')
  return opaque([runs(rest.length === 0 ? [{ text: 'echo' }] : rest, true)])
}

function readFind(args: readonly Word[]): Wrapped | undefined {
  const inner = args.flatMap(({ text }, index) => {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(text)) return []
    const rest = args.slice(index + 1)
    const end = rest.findIndex((word, at) => word.text === ';' || (word.text === '+' && rest[at - 1]?.text === '{}'))
    return [runs(end < 0 ? rest : rest.slice(0, end), true)]
  }).filter(({ words }) => words.length > 0)
  return inner.length === 0 ? undefined : opaque(inner)
}

/** Programs that hand their words, as one text, to a shell. */
function readJoined(args: readonly Word[], name: string): Wrapped {
  const words = args.map(({ text }) => text)
  const scripts = words.map((_, index) => words.slice(index).join(' ')).concat(words)
  return { ...opaque([], scripts), ...(words.length === 0 ? {} : { unread: `\`${name}\` hands its words to a shell` }) }
}
