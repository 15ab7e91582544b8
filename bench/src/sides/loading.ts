import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Runner, Side } from '../harness/subject.ts'
import { FILES_PER_EXTENSION, forestOf, type Forest } from '../loads/extension-forest.ts'
import { loadForest } from '../loads/load-forest.ts'

const loaded = async (forest: Forest, warm: boolean): Promise<number> => (await loadForest(forest, warm)).length

const COMMAND = 'find . -type f -print0 | xargs -0 sha512sum | wc -l'

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
    side('cold load', count, (planted) => loaded(planted, false)),
    side('warm load', count, (planted) => loaded(planted, true), (planted) => loaded(planted, true)),
  ] as const
}
