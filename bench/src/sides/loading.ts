import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createLoader } from '@bulkhead/loader'
import type { Runner, Side } from '../harness/subject.ts'
import { FILES_PER_EXTENSION, forestOf, type Forest } from './extension-forest.ts'

const COMMAND = 'find . -type f -print0 | xargs -0 sha512sum | wc -l'

async function loadedFrom({ globalRoot, workspace, cache }: Forest, warm: boolean): Promise<number> {
  const loader = createLoader({ coreVersion: '1.0.0', roots: { global: globalRoot }, bundled: [], ...(warm && { cache }) })
  const { extensions, diagnostics } = await loader.load({ workspace, trust: 'declined', overrides: { policy: { lock: { global: 'off' } } } })
  if (diagnostics.length > 0) throw new Error(`${diagnostics[0]!.code}: ${diagnostics[0]!.message}`)
  if (extensions.some(({ integrity }) => integrity !== 'verified')) throw new Error('An extension was not verified.')
  return extensions.length
}

/** A loader that knows nothing, one that has seen everything before, and what merely hashes the same bytes. */
export function loadingSides(count: number) {
  const forest = forestOf(count)
  const side = <const Name extends string>(
    name: Name, answer: number, run: (planted: Forest) => Promise<number>, prepare?: (planted: Forest) => Promise<unknown>,
  ) => ({
    name,
    answer: () => answer,
    start: async (): Promise<Runner> => {
      const planted = await forest.open()
      await prepare?.(planted)
      return { run: () => run(planted), stop: () => forest.close() }
    },
  }) as const satisfies Side<Name>
  return [
    side('sha512sum', count * FILES_PER_EXTENSION, async ({ globalRoot }) =>
      Number((await promisify(execFile)('sh', ['-c', COMMAND], { cwd: globalRoot })).stdout)),
    side('cold load', count, (planted) => loadedFrom(planted, false)),
    side('warm load', count, (planted) => loadedFrom(planted, true), (planted) => loadedFrom(planted, true)),
  ] as const
}
