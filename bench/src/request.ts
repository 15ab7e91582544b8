import { parseArgs } from 'node:util'

/** What the command line asked for; `complaint` when it made no sense. */
export type Request =
  | { readonly kind: 'help' }
  | { readonly kind: 'complaint'; readonly text: string }
  | {
      readonly kind: 'measure'
      readonly names: readonly string[]
      readonly json: boolean
      readonly quick: boolean
      readonly strict: boolean
      readonly out: string | undefined
    }

export const USAGE = `pnpm bench [NAME…] [--json] [--quick] [--strict] [--out FILE]

  NAME        a subject, or the first word of several; all of them when none is named
  --json      print the results as JSON and nothing else
  --quick     a few short rounds, to see that the sides work; leaves bench/latest.json alone
  --strict    exit with 1 when a goal is missed
  --out FILE  merge the results into FILE instead of bench/latest.json`

const OPTIONS = {
  json: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  strict: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  out: { type: 'string' },
} as const

export function readRequest(argv: readonly string[], known: readonly string[]): Request {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
    if (values.help) return { kind: 'help' }
    const named = new Map(positionals.map((name) => [name, known.filter((one) => one === name || one.startsWith(`${name}-`))]))
    const unknown = positionals.filter((name) => named.get(name)?.length === 0)
    if (unknown.length > 0) {
      return complaint(`There is no benchmark named ${unknown.join(' or ')}. There are: ${known.join(', ')}.`)
    }
    const { json, quick, strict, out } = values
    return { kind: 'measure', names: positionals.length > 0 ? [...new Set([...named.values()].flat())] : known, json, quick, strict, out }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return complaint(`${error.message}\n\n${USAGE}`)
  }
}

function complaint(text: string): Request {
  return { kind: 'complaint', text }
}
