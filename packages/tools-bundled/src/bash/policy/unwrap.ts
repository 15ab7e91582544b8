import type { NestedCommand, Word } from '../parse/plan.ts'

/** What a program that runs others was given. */
export interface Wrapped {
  /** The commands it starts. */
  readonly inner: readonly NestedCommand[]
  /** Texts that it hands to a shell. */
  readonly scripts: readonly string[]
  /** It does nothing of its own that would matter: it is judged as what it runs. */
  readonly transparent: boolean
  /** Set when its words are not known well enough to say what it runs. */
  readonly unread?: string
}

/** Options before the command of a wrapper. */
export interface PrefixForm {
  readonly flags?: readonly string[]
  readonly values?: readonly string[]
  /** `-5`. */
  readonly numbers?: boolean
  /** Words between the options and the command. */
  readonly operands?: number
}

/** The words from the command on; undefined when an option is not known or a pattern comes before it. */
export function afterPrefix(args: readonly Word[], form: PrefixForm): readonly Word[] | undefined {
  const flags = new Set(form.flags)
  const values = form.values ?? []
  let index = 0
  for (; index < args.length; index++) {
    const { text, pattern } = args[index]!
    if (pattern !== undefined) return undefined
    if (text === '--') {
      index++
      break
    }
    if (!text.startsWith('-') || text === '-') break
    if (flags.has(text) || (form.numbers === true && /^-\d+$/.test(text))) continue
    if (values.includes(text)) index++
    else if (!values.some((name) => text.startsWith(name.startsWith('--') ? `${name}=` : name))) return undefined
  }
  const command = index + (form.operands ?? 0)
  return args.slice(index, command).some(({ pattern }) => pattern !== undefined) ? undefined : args.slice(command)
}

export const runs = (words: readonly Word[], open = false): NestedCommand => ({ words, open })

export const opaque = (inner: readonly NestedCommand[], scripts: readonly string[] = []): Wrapped =>
  ({ inner, scripts, transparent: false })

const MAX_STARTS = 40

/** What it runs may begin at any of its words: enough to forbid it, never to allow it. */
export function anywhere(args: readonly Word[]): Wrapped {
  const wrapped = opaque(args.slice(0, MAX_STARTS).map((_, index) => runs(args.slice(index), true)))
  return args.length > MAX_STARTS ? { ...wrapped, unread: 'it has too many words' } : wrapped
}

/** The same, where nobody can tell more. */
export const unreadable = (args: readonly Word[], why: string): Wrapped => ({ ...anywhere(args), unread: why })
