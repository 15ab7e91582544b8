import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { FILES_PER_EXTENSION, sharedLayer, loadLayer, type ExtensionLayer } from '../loads/extension-layer.ts'
import type { WarmStart } from '../peers/warm-start.ts'

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

const peer = fileURLToPath(new URL('../peers/warm-start.ts', import.meta.url))

async function startIn(layer: ExtensionLayer): Promise<WarmStart> {
  const { stdout } = await promisify(execFile)(process.execPath, [peer, JSON.stringify(layer)])
  const started = JSON.parse(stdout) as WarmStart
  if (started.count !== layer.count) throw new Error(`Found ${started.count} of ${layer.count} extensions.`)
  return started
}

/** Each reading is the first load of a new process, so that no code is compiled and no file is read before. */
export function warmStartSides(count: number) {
  const shared = sharedLayer(count)
  const side = <const Name extends string>(name: Name, reading: (started: WarmStart) => number) => ({
    name,
    answer: (i: number) => i,
    start: async (): Promise<Runner> => {
      const layer = await shared.open()
      await loadLayer(layer, true)
      return { run: async (i) => i, cpuMs: async () => reading(await startIn(layer)), stop: () => shared.close() }
    },
  }) as const satisfies Side<Name>
  return [
    side('load alone', ({ loadMs }) => loadMs),
    side('and every manifest read', ({ readMs }) => readMs),
    side('with imports', ({ processMs }) => processMs),
  ] as const
}

const EXTENSIONS = 1_000

export const loader = defineSubject({
  title: `Loading ${EXTENSIONS} extensions of ${FILES_PER_EXTENSION} files`,
  compares: 'Discovery with all checks, the same from the cache, and sha512sum over the same files.',
  sides: loadingSides(EXTENSIONS),
  modes: [{ kind: 'latency' }],
  rounds: 6,
  ratios: [
    { side: 'cold load', measure: 'p50', against: 'sha512sum' },
    { side: 'warm load', measure: 'p50', against: 'cold load' },
  ],
})

export const loaderWarm = defineSubject({
  title: `CPU time of the first cached load in a new process, ${EXTENSIONS} extensions of ${FILES_PER_EXTENSION} files`,
  compares: 'User and system time of all threads: the load, the load and parsing every manifest, and the whole process '
    + 'from its start, including stripping types from imported sources.',
  sides: warmStartSides(EXTENSIONS),
  modes: [{ kind: 'cpu' }],
  rounds: 6,
  ratios: [],
})
