import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { readSmallFile } from '../../src/fs/sync-read.ts'
import { temporaryFolder } from '../fixture.ts'
import { CANARY, openFs, put } from './setup.ts'

const FLIP = new URL('./fixtures/flip.ts', import.meta.url)
const ROUNDS = 100_000
const ATTEMPTS = thoroughly(20, 1_500)
const QUICK_ATTEMPTS = thoroughly(200, 30_000)

/**
 * Repeats work while another process replaces a name by a link that leads outside, and back. Repeats it a number of
 * times, and then until both states were observed.
 */
async function whileFlipping(
  name: string, kind: 'file' | 'folder', decoy: string, attempt: (index: number) => Promise<boolean>,
  attempts = ATTEMPTS,
): Promise<void> {
  const child = fork(FLIP, [name, kind, decoy, String(ROUNDS)])
  const done = new AbortController()
  const exited = once(child, 'exit')
  try {
    const early = exited.then((end) => { throw new Error(`It ended before it flipped anything: ${end}`) })
    await Promise.race([once(child, 'message'), early])
    early.catch(() => undefined)
    child.once('message', () => done.abort())
    for (let index = 0, met = false; (index < attempts || !met) && !done.signal.aborted; index++) {
      met = await attempt(index)
    }
    if (child.connected) child.send('stop', () => undefined)
    await exited
  } finally {
    child.kill('SIGKILL')
  }
}

async function setUp() {
  const root = await temporaryFolder()
  await put(root, ['ws/docs/sub/f.txt', 'inside'], ['ws/docs/f.txt', 'inside'])
  await put(root, ['outside/f.txt', CANARY], ['outside/deep/canary.txt', CANARY])
  const outside = join(root, 'outside')
  const before = await snapshot(outside)
  return {
    root, workspace: join(root, 'ws'), outside, untouched: async () => expect(await snapshot(outside)).toEqual(before),
  }
}

async function snapshot(folder: string): Promise<Json[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted()
  return Promise.all(names.map(async (name) => {
    const found = await stat(join(folder, name))
    return [
      name, found.isFile() ? await readFile(join(folder, name), 'utf8') : 'folder', found.isFile() ? found.mtimeMs : 0,
    ]
  }))
}
type Json = readonly (string | number)[]

/** The value of an attempt, or its error code. */
const outcome = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: { code: string }) => ({ code: error.code }))

const REFUSALS: ReadonlySet<unknown> = new Set(['CapabilityDenied', 'NotFound', 'InputInvalid'])

function tally(seen: Map<string, number>, value: unknown): void {
  const code = (value as { code?: string } | null)?.code
  const key = code ?? 'granted'
  if (code !== undefined) expect(REFUSALS.has(code), code).toBe(true)
  seen.set(key, (seen.get(key) ?? 0) + 1)
}

const bothMet = (seen: ReadonlyMap<string, number>): boolean => seen.has('granted') && seen.size > 1

describe('while a name is replaced by a link and back', () => {
  it('read, stat, list and glob never follow a folder outside', async () => {
    const { workspace, outside, untouched } = await setUp()
    const { fs } = openFs(workspace, { read: ['docs/**'] })
    const seen = new Map<string, number>()
    await whileFlipping(join(workspace, 'docs/sub'), 'folder', outside, async (index) => {
      const ways = [
        () => fs.readText('docs/sub/f.txt'), () => fs.list('docs/sub'), () => fs.stat('docs/sub/f.txt'),
        () => fs.glob('**/*', { path: 'docs' }),
        () => fs.glob('*.txt', { path: 'docs/sub' }), () => fs.readText('docs/sub/deep/canary.txt'),
      ]
      const value = await outcome(ways[index % ways.length]!())
      tally(seen, value)
      const text = JSON.stringify(value)
      expect(text).not.toContain(CANARY)
      expect(text).not.toContain('deep')
      if (text.includes('"size"')) expect(text).toContain('"size":6')
      return bothMet(seen)
    })
    expect(bothMet(seen)).toBe(true)
    await untouched()
  })

  it('write, edit, create and remove never follow a folder outside', async () => {
    const { workspace, outside, untouched } = await setUp()
    // Not the folder itself: the tool would create it while it is missing and disturb the flipping.
    const { fs } = openFs(workspace, { read: ['docs/**'], write: ['docs/sub/*', 'docs/sub/*/**'] })
    const seen = new Map<string, number>()
    await whileFlipping(join(workspace, 'docs/sub'), 'folder', outside, async (index) => {
      const ways = [
        () => fs.write('docs/sub/f.txt', `round ${index}`), () => fs.write('docs/sub/new.txt', 'x'),
        () => fs.remove('docs/sub/new.txt'),
        () => fs.edit('docs/sub/f.txt', 'round', 'circle'), () => fs.write('docs/sub/made/by/write.txt', 'x'),
        () => fs.remove('docs/sub/made/by/write.txt'),
        () => fs.remove('docs/sub/made/by'), () => fs.remove('docs/sub/made'),
        () => fs.remove('docs/sub/deep/canary.txt'),
      ]
      tally(seen, await outcome(ways[index % ways.length]!()))
      return bothMet(seen)
    })
    expect(bothMet(seen)).toBe(true)
    await untouched()
  })

  it('no operation follows the last component outside', async () => {
    const { workspace, outside, untouched } = await setUp()
    const { fs } = openFs(workspace, { read: ['docs/**'], write: ['docs/**'] })
    const seen = new Map<string, number>()
    await whileFlipping(join(workspace, 'docs/f.txt'), 'file', join(outside, 'f.txt'), async (index) => {
      const ways = [
        () => fs.readText('docs/f.txt'), () => fs.stat('docs/f.txt'), () => fs.edit('docs/f.txt', CANARY, 'gone'),
        // Same length as before, so that access outside is detected.
        () => fs.write('docs/f.txt', 'inside'),
      ]
      const value = await outcome(ways[index % ways.length]!())
      tally(seen, value)
      expect(JSON.stringify(value)).not.toContain(CANARY)
      if (typeof value === 'object' && value !== null && 'size' in value) expect(value.size).toBe(6)
      return bothMet(seen)
    })
    expect(bothMet(seen)).toBe(true)
    await untouched()
  })

  it.each([['a folder', 'docs/sub', 'folder'], ['the last component', 'docs/f.txt', 'file']] as const)(
    'a synchronous read never leaves the grant: %s',
    async (_, name, kind) => {
      const { workspace, outside } = await setUp()
      const path = join(workspace, kind === 'folder' ? 'docs/sub/f.txt' : 'docs/f.txt')
      const seen = new Set<string | undefined>()
      const target = kind === 'folder' ? outside : join(outside, 'f.txt')
      await whileFlipping(join(workspace, name), kind, target, async (index) => {
        seen.add(readSmallFile({ path, root: workspace }, {}, (bytes) => bytes.toString()))
        // Let the message arrive that the flipping has ended.
        if (index % 64 === 0) await new Promise((resolve) => setImmediate(resolve))
        return seen.size > 1
      }, QUICK_ATTEMPTS)
      expect(seen).toEqual(new Set(['inside', undefined]))
    },
  )

  it('an unchecked read leads outside, which proves the race', async () => {
    const { workspace, outside } = await setUp()
    const path = join(workspace, 'docs/sub/f.txt')
    const read = new Set<string>()
    await whileFlipping(join(workspace, 'docs/sub'), 'folder', outside, async () => {
      const found = await stat(path).catch(() => undefined)
      if (found?.isFile() === true) read.add(await readFile(path, 'utf8').catch(() => ''))
      return read.has(CANARY)
    })
    expect(read).toContain(CANARY)
  })
})
