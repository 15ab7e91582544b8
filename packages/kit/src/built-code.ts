import { hash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

// Used from the sources only. In a published package the build replaces the modules that use this by their results.

export interface Built<Code> {
  readonly code: Code
  /** The files that it was made from. */
  readonly sources: readonly string[]
}

type Kept<Code> = Built<Code> & { readonly digests: readonly string[] }

/**
 * What `build`, an export of the module, returns. Built at first use, and kept under this name in the compile cache of
 * Node, if it is enabled. What was kept is used while it and all sources have their digests of then.
 */
export async function builtCode<Code>(name: string, module: string): Promise<Code> {
  const folder = getCompileCacheDir()
  if (!folder) return (await buildInThread<Code>(module)).code
  // Copies of the sources can share the folder.
  const file = join(folder, `${name}-${sha256(module).slice(0, 16)}.json`)
  const kept = await readKept<Code>(file)
  if (kept !== undefined) return kept.code
  const built = await buildInThread<Code>(module)
  const { code, sources } = { ...built, sources: [...built.sources, fileURLToPath(import.meta.url)] }
  const json = JSON.stringify({ code, sources, digests: await digestsOf(sources) } satisfies Kept<Code>)
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${sha256(json)}\n${json}`).then(() => rename(draft, file)).catch(() => undefined)
  return code
}

async function readKept<Code>(file: string): Promise<Kept<Code> | undefined> {
  try {
    const [digest, json] = (await readFile(file, 'utf8')).split('\n') as [string, string]
    if (digest !== sha256(json)) return undefined
    const kept = JSON.parse(json) as Kept<Code>
    const now = await digestsOf(kept.sources)
    return now.every((one, at) => one === kept.digests[at]) ? kept : undefined
  } catch {
    return undefined
  }
}

const sha256 = (data: string | Buffer): string => hash('sha256', data)
const digestsOf = (paths: readonly string[]): Promise<readonly string[]> =>
  Promise.all(paths.map(async (path) => sha256(await readFile(path))))

// In a thread, because the bundler changes globals of its realm, which belongs to the embedder.
const IN_THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
import(workerData).then(async ({ build }) => parentPort.postMessage(await build()))
`

function buildInThread<Code>(module: string): Promise<Built<Code>> {
  return new Promise((done, fail) => {
    const worker = new Worker(IN_THREAD, { eval: true, execArgv: ['--no-warnings'], env: {}, workerData: module })
    worker.once('message', done)
    worker.once('error', fail)
  })
}
