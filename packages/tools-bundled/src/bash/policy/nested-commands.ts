import { isPlain, type NestedCommand, type Word, wordList } from '../parse/plan.ts'

/** The commands that a wrapper such as `sudo` or `xargs` runs. */
export interface Wrapped {
  readonly inner: readonly NestedCommand[]
  /** Scripts that it passes to a shell. */
  readonly scripts: readonly string[]
  /** The wrapper has no effects of its own, so it can be treated as the command it runs. */
  readonly transparent: boolean
  /** Set if the command cannot be determined. */
  readonly unread?: string
}

/** Options before the command of a wrapper. */
export interface PrefixForm {
  readonly flags?: readonly string[]
  readonly values?: readonly string[]
  /** `-5`. */
  readonly numbers?: boolean
  /** Operands between the options and the command. */
  readonly operands?: number
}

/**
 * Skips the options of a wrapper. Undefined if an option is unknown, a value could be an option, or a word before the
 * command is not literal: it could become several words, and one of them the command.
 */
export function afterPrefix(args: readonly Word[], form: PrefixForm): readonly Word[] | undefined {
  const flags = new Set(form.flags)
  const values = form.values ?? []
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index]!
    const { text } = word
    if (text === '--') {
      index++
      break
    }
    if (!text.startsWith('-') || text === '-') break
    if (!isPlain(word)) return undefined
    if (flags.has(text) || (form.numbers === true && /^-\d+$/.test(text))) continue
    if (values.includes(text)) {
      const value = args[++index]
      if (value !== undefined && (!isPlain(value) || /^-(?!\d+$)/.test(value.text))) return undefined
    } else if (!values.some((name) => text.startsWith(name.startsWith('--') ? `${name}=` : name))) return undefined
  }
  const command = index + (form.operands ?? 0)
  return args.slice(index, command).every(isPlain) ? args.slice(command) : undefined
}

export const nested = (words: readonly Word[]): NestedCommand => ({ words })

export const opaque = (inner: readonly NestedCommand[], scripts: readonly string[] = []): Wrapped =>
  ({ inner, scripts, transparent: false })

const MAX_STARTS = 40

/** Treats every word as the possible start of a command. Used for deny rules only. */
export function commandAtAnyWord(args: readonly Word[]): Wrapped {
  const wrapped = opaque(args.slice(0, MAX_STARTS).map((_, index) => nested(args.slice(index))))
  return args.length > MAX_STARTS ? { ...wrapped, unread: 'it has too many arguments' } : wrapped
}

/** Like `commandAtAnyWord`, and requires approval each time. */
export const unreadable = (args: readonly Word[], why: string): Wrapped => ({ ...commandAtAnyWord(args), unread: why })

const SHELLS: ReadonlySet<string> = new Set(wordList(
  'sh bash dash zsh ksh mksh ash fish rbash csh tcsh pwsh powershell',
))

/** The script of `sh -c`, in any spelling. Undefined if there is none. */
export function shellScript(name: string, args: readonly Word[]): Wrapped | undefined {
  if (!SHELLS.has(name)) return undefined
  for (let index = 0; index < args.length; index++) {
    const { text, pattern } = args[index]!
    if (pattern !== undefined) return unreadable(args, `an argument of \`${name}\` is a pattern`)
    if (text === '--command' || /^-[a-zA-Z]*c$/i.test(text)) {
      const script = args.slice(index + 1).find((word) => !/^[-+]/.test(word.text))
      return script === undefined ? unreadable(args, `\`${name} -c\` has no script`) : opaque([], [script.text])
    }
    if (text.startsWith('--command=')) return opaque([], [text.slice('--command='.length)])
    if (text === '-o' || text === '+o' || text === '--rcfile' || text === '--init-file') index++
    else if (!/^[-+]/.test(text)) return undefined
  }
  return undefined
}

/** Options whose value is a command. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['tar', wordList(
    '--to-command -I --use-compress-program --checkpoint-action -F --info-script --new-volume-script --rsh-command '
      + '--rmt-command',
  )],
  ['rsync', ['-e', '--rsh', '--rsync-path']],
  ['scp', ['-S', '-o']],
  ['sftp', ['-S', '-o']],
  ['sort', ['--compress-program']],
  ['rg', ['--pre', '--hostname-bin']],
  ['man', ['-P', '--pager', '-H', '--html']],
  ['ssh', ['-o']],
  ['make', ['--eval']],
  ['split', ['--filter']],
  ['zip', ['-TT', '--unzip-command']],
  ['wget', ['--use-askpass']],
  ['vim', ['-c', '--cmd', '-S']],
  ['nvim', ['-c', '--cmd', '-S']],
  ['ctags', ['--options']],
])

/** Commands in option values. Undefined if there are none. */
export function optionScripts(name: string, args: readonly Word[]): Wrapped | undefined {
  const options = OPTIONS.get(name)
  if (options === undefined) return undefined
  const scripts = args.flatMap(({ text }, index) => {
    const option = options.find(
      (known) => text === known || text.startsWith(known.startsWith('--') ? `${known}=` : known),
    )
    if (option === undefined) return []
    const value = text === option ? args[index + 1]?.text ?? '' : text.slice(option.length).replace(/^=/, '')
    return [value.replace(/^(?:exec|ProxyCommand|LocalCommand)=/, '')]
  })
  return scripts.length === 0 ? undefined : opaque([], scripts)
}

/** Subcommands of git that run a command. */
const RUNNING = /^(?:submodule foreach|bisect run)$/
const EXECUTING: ReadonlySet<string> = new Set(wordList(
  '-x --exec --extcmd --upload-pack --receive-pack -O --open-files-in-pager --tree-filter --index-filter --msg-filter '
    + '--env-filter',
))

/** The commands that git runs because of a setting, an option or a subcommand. */
export function gitScripts(args: readonly Word[]): Wrapped | undefined {
  const scripts = args.flatMap(({ text }, index) => {
    const next = args[index + 1]?.text ?? ''
    if (text === '-c' || text === '--config-env') return [next.slice(next.indexOf('=') + 1).replace(/^!/, '')]
    if (EXECUTING.has(text) || (text === '-u' && args.some((word) => word.text === 'clone'))) return [next]
    const option = [...EXECUTING].find((name) => name.startsWith('--') && text.startsWith(`${name}=`))
    return option === undefined ? [] : [text.slice(option.length + 1)]
  })
  const at = args.findIndex(({ text }, index) => index > 0 && RUNNING.test(`${args[index - 1]!.text} ${text}`))
  const command = at < 0 ? [] : args.slice(at + 1).filter(({ text }) => text !== '--recursive')
  const inner = command.length === 0 ? [] : [nested(command)]
  const joined = command.length === 0 ? [] : [command.map(({ text }) => text).join(' ')]
  return scripts.length + inner.length === 0 ? undefined : opaque(inner, [...scripts, ...joined])
}
