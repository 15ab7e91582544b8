import { Worker } from 'node:worker_threads'

// In a thread of its own because Node warns about the function once per process, and a host's output is its embedder's.
const STRIP = `
const { stripTypeScriptTypes } = require('node:module')
const { parentPort, workerData } = require('node:worker_threads')
parentPort.postMessage(workerData.map((text) => stripTypeScriptTypes(text)))
`

/** Sources as JavaScript. Files that are JavaScript already, as in a published package, are taken as they are. */
export async function stripTypes(files: readonly { readonly path: string; readonly text: string }[]): Promise<readonly string[]> {
  const typed = files.filter(({ path }) => path.endsWith('.ts'))
  if (typed.length === 0) return files.map(({ text }) => text)
  const stripped = await new Promise<readonly string[]>((resolve, reject) => {
    const workerData = typed.map(({ text }) => text)
    const worker = new Worker(STRIP, { eval: true, execArgv: ['--no-warnings'], env: {}, workerData })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  const byPath = new Map(typed.map(({ path }, index) => [path, stripped[index]!]))
  return files.map(({ path, text }) => byPath.get(path) ?? text)
}
