import { isPlain, isVariadic, type Word } from '../parse/plan.ts'

/** The read-only options and operands of a program. All others are rejected. */
export interface OptionList {
  /** Options without a value. Single letters can be combined. */
  readonly flags?: readonly string[]
  /** Options with a value, which is a string or a file. */
  readonly values?: Readonly<Record<string, 'text' | 'path'>>
  /** `-5`, as in `head -5`. */
  readonly numbers?: boolean
  /** The kind of operands. `text-then-paths`: a string first, unless an option in `firstGivenBy` provides it. */
  readonly operands: 'paths' | 'texts' | 'none' | 'text-then-paths'
  readonly firstGivenBy?: readonly string[]
  readonly maxOperands?: number
  /** Every operand must match this. */
  readonly operandForm?: RegExp
  /** The program only prints, whatever its arguments are. */
  readonly anything?: true
}

export interface KnownUse {
  /** Files that the program reads. */
  readonly paths: readonly Word[]
  /** For `text-then-paths`: the strings before the paths. */
  readonly scripts?: readonly string[]
}

/** Matches arguments against a list. Undefined if they contain anything that is not in it. */
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
  // A word that expands to several words could exceed the limit.
  if (list.maxOperands !== undefined && (operands.length > list.maxOperands || operands.some(isVariadic))) {
    return undefined
  }
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
  /** A value in the same word, as in `-n5`. */
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
    // Options with an optional value, such as `--color=always`.
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
