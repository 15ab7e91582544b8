import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { FILES_PER_EXTENSION, sharedLayer, loadLayer, type ExtensionLayer } from '../loads/extension-layer.ts'

const loaded = async (layer: ExtensionLayer, warm: boolean): Promise<number> => (await loadLayer(layer, warm)).length

const COMMAND = 'find . -type f -print0 | xargs -0 sha512sum | wc -l'

/** A loader without a cache, one with a cache, and a program that only hashes the same files. */
export function loadingSides(count: number) {
  const shared = sharedLayer(count)
  const side = <const Name extends string>(
    name: Name, answer: number,
    run: (layer: ExtensionLayer) => Promise<number>, prepare?: (layer: ExtensionLayer) => Promise<unknown>,
  ) => ({
    name,
    answer: () => answer,
    start: async (): Promise<Runner> => {
      const layer = await shared.open()
      await prepare?.(layer)
      return { run: () => run(layer), stop: () => shared.close() }
    },
  }) as const satisfies Side<Name>
  return [
    side('sha512sum', count * FILES_PER_EXTENSION, async ({ globalRoot }) =>
      Number((await promisify(execFile)('sh', ['-c', COMMAND], { cwd: globalRoot })).stdout)),
    side('cold load', count, (layer) => loaded(layer, false)),
    side('warm load', count, (layer) => loaded(layer, true), (layer) => loaded(layer, true)),
  ] as const
}

const EXTENSIONS = 1_000

export const subject = defineSubject({
  title: `Loading ${EXTENSIONS} extensions of ${FILES_PER_EXTENSION} files`,
  compares: 'Discovery with all checks, the same from the cache, and sha512sum over the same files.',
  sides: loadingSides(EXTENSIONS),
  modes: [{ kind: 'latency' }],
  rounds: 6,
  goals: [
    { side: 'cold load', measure: 'p50', is: '≤', ratio: 2, against: 'sha512sum' },
    { side: 'warm load', measure: 'p50', is: '≤', ratio: 0.1, against: 'cold load' },
  ],
})
