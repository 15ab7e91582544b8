import { openCatalog } from './harness/catalog.ts'
import { latestOf, mergeLatest, serialize } from './harness/latest.ts'
import { painterFor } from './harness/paint.ts'
import { renderReport } from './harness/report.ts'
import { resultOf } from './harness/result.ts'
import type { Result } from './harness/result.ts'
import { FULL, QUICK, runSubject } from './harness/run.ts'
import type { OnRound } from './harness/run.ts'
import { SideError } from './harness/side-error.ts'
import { readRequest, USAGE } from './request.ts'

export interface Surroundings {
  /** The folder of the subjects; ends with a slash. */
  readonly subjects: URL
  /** Where a full run leaves its results unless told otherwise. */
  readonly latest: string
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/** Gives the exit code: 0 measured, 1 a side failed (or, if strict, a goal was missed), 2 wrong usage. */
export async function runCommand(argv: readonly string[], around: Surroundings): Promise<0 | 1 | 2> {
  const { stdout, stderr } = around
  const catalog = await openCatalog(around.subjects)
  const request = readRequest(argv, catalog.names)
  if (request.kind === 'complaint') {
    stderr.write(`${request.text}\n`)
    return 2
  }
  if (request.kind === 'help') {
    stdout.write(`${USAGE}\n\nSubjects: ${catalog.names.join(', ')}\n`)
    return 0
  }

  const pace = request.quick ? QUICK : FULL
  const out = request.out ?? (request.quick ? undefined : around.latest)
  const results = new Map<string, Result>()
  try {
    for (const name of request.names) {
      const subject = await catalog.load(name)
      const result = resultOf(subject, pace, await runSubject(subject, pace, progress(name, request.json, stderr)))
      results.set(name, result)
      if (!request.json) stdout.write(`${renderReport(name, result, painterFor(stdout))}\n`)
      // After each subject, so that one that fails does not cost the others their results.
      if (out !== undefined) await mergeLatest(out, new Map([[name, result]]))
    }
  } catch (error) {
    if (!(error instanceof SideError)) throw error
    stderr.write(`${error.message}\n`)
    return 1
  }
  if (request.json) stdout.write(serialize(latestOf(results)))
  return request.strict && [...results.values()].some(({ ratios }) => ratios.some(({ met }) => !met)) ? 1 : 0
}

/** Only for someone who watches: a line that is overwritten and finally erased. */
function progress(name: string, json: boolean, stderr: Surroundings['stderr']): OnRound | undefined {
  if (json || stderr.isTTY !== true) return undefined
  return (done, all) => void stderr.write(done === all ? '\r\x1b[K' : `\r${name}: round ${done} of ${all}`)
}
