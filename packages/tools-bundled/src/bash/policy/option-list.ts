import type { Word } from '../parse/plan.ts'
import { isVariadic, isPlain } from '../parse/plan.ts'

/** The ways to use a program that only read: its options by name, and what its operands are. Anything else is not known. */
export interface OptionList {
  /** Options without a value; single letters may be written together. */
  readonly flags?: readonly string[]
  /** Options with a value, and whether it names a file. */
  readonly values?: Readonly<Record<string, 'text' | 'path'>>
  /** `-5`, as in `head -5`. */
  readonly numbers?: boolean
  /** What the words beside options are. `text-then-paths`: a pattern first, unless an option of `firstGivenBy` has it. */
  readonly operands: 'paths' | 'texts' | 'none' | 'text-then-paths'
  readonly firstGivenBy?: readonly string[]
  readonly maxOperands?: number
  /** What every operand looks like. */
  readonly operandForm?: RegExp
  /** Whatever its words are, it does no more than print. */
  readonly anything?: true
}

export interface KnownUse {
  /** Words that name files to be read. */
  readonly paths: readonly Word[]
  /** Of `text-then-paths`: the texts that come before the paths. */
  readonly scripts?: readonly string[]
}

/** What is read when the words are one of the known ways; undefined when they are not. */
export function knownUse(args: readonly Word[], list: OptionList): KnownUse | undefined {
  if (list.anything === true) return { paths: [] }
  const flags = new Set(list.flags)
  const values = new Map(Object.entries(list.values ?? {}))
  const operands: Word[] = []
  const paths: Word[] = []
  const scripts: string[] = []
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!
    const { text } = word
    if (text === '--' && isPlain(word)) {
      operands.push(...args.slice(index + 1))
      break
    }
    if (!text.startsWith('-') || text === '-') {
      operands.push(word)
      continue
    }
    if (!isPlain(word)) return undefined
    if (list.numbers === true && /^-\d+$/.test(text)) continue
    const option = readOption(text, flags, values)
    if (option === undefined) return undefined
    const isFirst = option.names.some((name) => list.firstGivenBy?.includes(name) === true)
    if (option.takes === undefined) {
      if (isFirst) scripts.push('')
      continue
    }
    const value = option.value === undefined ? args[++index] : { text: option.value }
    if (value === undefined || !isPlain(value)) return undefined
    if (option.takes === 'path') paths.push(value)
    if (isFirst) scripts.push(value.text)
  }
  // A word that may become several would pass the limit.
  if (list.maxOperands !== undefined && (operands.length > list.maxOperands || operands.some(isVariadic))) return undefined
  const { operandForm } = list
  if (operandForm !== undefined && !operands.every(({ text }) => operandForm.test(text))) return undefined
  switch (list.operands) {
    case 'none':
      return operands.length === 0 ? { paths } : undefined
    case 'texts':
      return { paths }
    case 'paths':
      return { paths: [...paths, ...operands] }
    case 'text-then-paths': {
      if (scripts.length > 0) return { paths: [...paths, ...operands], scripts }
      const [first, ...others] = operands
      if (first !== undefined && !isPlain(first)) return undefined
      return { paths: [...paths, ...others], ...(first && { scripts: [first.text] }) }
    }
  }
}

interface ReadOption {
  readonly names: readonly string[]
  readonly takes?: 'text' | 'path' | undefined
  /** Written together with its name. */
  readonly value?: string
}

function readOption(
  text: string, flags: ReadonlySet<string>, values: ReadonlyMap<string, 'text' | 'path'>,
): ReadOption | undefined {
  if (flags.has(text)) return { names: [text] }
  if (values.has(text)) return { names: [text], takes: values.get(text) }
  if (text.startsWith('--')) {
    const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]
    if (!text.includes('=')) return undefined
    if (values.has(name)) return { names: [name], takes: values.get(name), value }
    // Such as `--color=always`, where a value may be left out.
    return flags.has(`${name}=`) ? { names: [name] } : undefined
  }
  const names: string[] = []
  for (let at = 1; at < text.length; at++) {
    const name = `-${text[at]}`
    names.push(name)
    if (values.has(name)) {
      const rest = text.slice(at + 1)
      return { names, takes: values.get(name), ...(rest === '' ? {} : { value: rest }) }
    }
    if (!flags.has(name)) return undefined
  }
  return { names }
}
