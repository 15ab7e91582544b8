import { parseArgs } from 'node:util'
import { SideError } from './harness/started-side.ts'
import { latestOf, mergeLatest, serialize, resultOf, type Result } from './harness/result.ts'
import { painterFor, renderReport } from './harness/report.ts'
import { FULL, QUICK, runSubject, type OnRound } from './harness/run.ts'
import type { Subjects } from './harness/subject.ts'

export interface Surroundings {
  readonly subjects: Subjects
  /** The results file of a full run, unless `--out` names another. */
  readonly latest: string
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/** Returns the exit code: 0 measured, 1 a side failed or, if strict, a goal was missed, 2 wrong usage. */
export async function runCommand(argv: readonly string[], around: Surroundings): Promise<0 | 1 | 2> {
  const { subjects, stdout, stderr } = around
  const known = Object.keys(subjects)
  const request = readRequest(argv, known)
  if (request.kind === 'invalid') {
    stderr.write(`${request.text}\n`)
    return 2
  }
  if (request.kind === 'help') {
    stdout.write(`${USAGE}\n\nSubjects: ${known.join(', ')}\n`)
    return 0
  }

  const pace = request.quick ? QUICK : FULL
  const out = request.out ?? (request.quick ? undefined : around.latest)
  const results = new Map<string, Result>()
  try {
    for (const name of request.names) {
      const subject = await subjects[name]!()
      const result = resultOf(subject, pace, await runSubject(subject, pace, progress(name, request.json, stderr)))
      results.set(name, result)
      if (!request.json) stdout.write(`${renderReport(name, result, painterFor(stdout))}\n`)
      // After each subject, so that a later failure does not lose the results.
      if (out !== undefined) await mergeLatest(out, new Map([[name, result]]))
    }
  } catch (error) {
    if (!(error instanceof SideError)) throw error
    stderr.write(`${error.message}\n`)
    return 1
  }
  if (request.json) stdout.write(serialize(latestOf(results)))
  return request.strict && [...results.values()].some(({ ratios }) => ratios.some(({ met }) => met === false)) ? 1 : 0
}

/** Progress on a terminal: one line that is overwritten and finally erased. */
function progress(name: string, json: boolean, stderr: Surroundings['stderr']): OnRound | undefined {
  if (json || stderr.isTTY !== true) return undefined
  return (done, all) => void stderr.write(done === all ? '\r\x1b[K' : `\r${name}: round ${done} of ${all}`)
}

/** The parsed command line. */
type Request =
  | { readonly kind: 'help' }
  | { readonly kind: 'invalid'; readonly text: string }
  | {
      readonly kind: 'measure'
      readonly names: readonly string[]
      readonly json: boolean
      readonly quick: boolean
      readonly strict: boolean
      readonly out: string | undefined
    }

const USAGE = `pnpm bench [NAME…] [--json] [--quick] [--strict] [--out FILE]

  NAME        a subject, or the first word of several subjects; default: all subjects
  --json      print the results as JSON and nothing else
  --quick     a few short rounds, to check that the sides work; does not write bench/latest.json
  --strict    exit with code 1 if a goal is missed
  --out FILE  merge the results into FILE instead of bench/latest.json`

const OPTIONS = {
  json: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  strict: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  out: { type: 'string' },
} as const

function readRequest(argv: readonly string[], known: readonly string[]): Request {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
    if (values.help) return { kind: 'help' }
    const matching = (name: string) => known.filter((one) => one === name || one.startsWith(`${name}-`))
    const named = new Map(positionals.map((name) => [name, matching(name)]))
    const unknown = positionals.filter((name) => named.get(name)?.length === 0)
    if (unknown.length > 0) {
      return invalid(`Unknown subject: ${unknown.join(', ')}. Known subjects: ${known.join(', ')}.`)
    }
    const { json, quick, strict, out } = values
    const names = positionals.length > 0 ? [...new Set([...named.values()].flat())] : known
    return { kind: 'measure', names, json, quick, strict, out }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return invalid(`${error.message}\n\n${USAGE}`)
  }
}

function invalid(text: string): Request {
  return { kind: 'invalid', text }
}
