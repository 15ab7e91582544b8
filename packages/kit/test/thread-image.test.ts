import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { ThreadImage } from '../src/thread-image.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-thread-'))
  mkdirSync(join(folder, 'node_modules/old-style'), { recursive: true })
  write('package.json', '{ "type": "module" }')
  write('node_modules/old-style/package.json', '{ "main": "index.js" }')
  write('node_modules/old-style/index.js', "exports.word = require('./inner.js').word + require('./data.json').word")
  write('node_modules/old-style/inner.js', "exports.word = 'old '")
  write('node_modules/old-style/data.json', '{ "word": "style" }')
  write('typed.ts', "export const typed: string = 'typed'")
  write('entry.ts', `import { parentPort } from 'node:worker_threads'
    import { word } from 'old-style'
    import { typed } from './typed.ts'
    export function run(data: unknown): void { parentPort?.postMessage([word, typed, data]) }`)
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
const spoil = (): void => {
  for (const name of ['entry.ts', 'typed.ts', 'node_modules/old-style/index.js', 'node_modules/old-style/inner.js']) {
    write(name, "throw new Error('changed on disk')")
  }
  rmSync(join(folder, 'node_modules/old-style/data.json'))
}
const image = (): ThreadImage => new ThreadImage(pathToFileURL(join(folder, 'entry.ts')))
const answerOf = async (from: ThreadImage, data: unknown, options = {}): Promise<unknown> => {
  const worker = from.start(data, options)
  const [answer] = await once(worker, 'message') as [unknown]
  await worker.terminate()
  return answer
}

it('runs the recorded code after the files have changed', async () => {
  const read = image()
  await read.load()
  spoil()
  expect(await answerOf(read, { x: 1 })).toEqual(['old style', 'typed', { x: 1 }])
  await expect(answerOf(image(), 2)).rejects.toThrow('changed on disk')
})

it('needs no permission to read files after loading', async () => {
  const read = image()
  await read.load()
  expect(await answerOf(read, 3, { execArgv: ['--permission'] })).toEqual(['old style', 'typed', 3])
})

it('loads with the first thread', async () => {
  const read = image()
  expect(await answerOf(read, 4)).toEqual(['old style', 'typed', 4])
  await read.load()
  spoil()
  expect(await answerOf(read, undefined)).toEqual(['old style', 'typed', undefined])
})

it('rejects if the code cannot be loaded, and can be retried', async () => {
  const read = image()
  write('typed.ts', "export const typed = ''; throw new Error('broken')")
  await expect(read.load()).rejects.toThrow('broken')
  write('typed.ts', "export const typed = 'mended'")
  await read.load()
  expect(await answerOf(read, 5)).toEqual(['old style', 'mended', 5])
})

// On a busy machine about one load in sixteen reported the exit of the thread before the message with its code.
it('has the code after the thread has ended, in either order of events', LONG, async () => {
  const busy = setInterval(() => {
    for (const end = performance.now() + 20; performance.now() < end;);
  }, 21)
  try {
    for (let round = 0; round < thoroughly(8, 20); round++) {
      const read = image()
      await read.load()
      expect(read.isLoaded).toBe(true)
    }
  } finally {
    clearInterval(busy)
  }
})

it('reports a failure in the thread as an error of the worker', async () => {
  write('entry.ts', "export async function run() { throw new Error('in the work') }")
  await expect(answerOf(image(), 6)).rejects.toThrow('in the work')
})

it('does not depend on the working directory', async () => {
  const read = image()
  const before = process.cwd()
  await read.load()
  try {
    process.chdir(folder)
    expect(await answerOf(read, 5)).toEqual(['old style', 'typed', 5])
  } finally {
    process.chdir(before)
  }
})
