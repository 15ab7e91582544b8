import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CompartmentSession, Sandbox } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { tool } from '../read.ts'
import { toolRequest } from '../../../test/tool-request.ts'

const KB = 1024
let workspace: string
let sandbox: Sandbox
let session: CompartmentSession

beforeAll(async () => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-read-')))
  sandbox = createSandbox({ workspace })
  session = await sandbox.open(toolRequest('read', { workspace: [workspace] }))
})
afterAll(async () => {
  await sandbox.close()
  rmSync(workspace, { recursive: true })
})

let calls = 0
const read = (args: JsonObject, signal: AbortSignal = new AbortController().signal) =>
  session.call({ callId: `c${++calls}`, tool: 'read', args, signal })
const put = (name: string, content: string | Uint8Array) => writeFileSync(join(workspace, name), content)

describe('a file of 2 GB', () => {
  beforeAll(() => {
    put('huge.txt', 'line\n'.repeat(4 * KB))
    truncateSync(join(workspace, 'huge.txt'), 2 * KB ** 3)
  })

  it('returns its first lines without reading the rest', LONG, async () => {
    expect(await read({ path: 'huge.txt', offset: 3, limit: 2 })).toEqual({
      path: 'huge.txt', content: 'line\nline\n', lines: { from: 3, to: 4 },
    })
  })

  it('is not searched for a line far from the start', async () => {
    // Called without a compartment, which would copy all of the searched bytes.
    const [text, zeros] = [Buffer.from('line\n'.repeat(4 * KB)), Buffer.alloc(KB ** 2)]
    const fs = {
      stat: async () => ({ kind: 'file', size: 2 * KB ** 3 }),
      readText: async () => `${text.toString()}\0`,
      read: async (_: string, { start, end }: { start: number; end: number }) =>
        start === 0 ? Buffer.concat([text, zeros]).subarray(0, end)
          : start < 256 * KB ** 2 ? zeros.subarray(0, end - start) : Buffer.alloc(end - start, '\n'),
    }
    const runtime = { fs, signal: new AbortController().signal }
    const execute = tool.execute as (args: object, runtime: object) => Promise<unknown>
    await expect(execute({ path: 'huge.txt', offset: 9_999 }, runtime)).rejects.toMatchObject({
      code: 'InputInvalid', message: expect.stringMatching(/first 256 MB \(4097 lines\).*byte_start/),
    })
  })

  it('returns any range of bytes', async () => {
    expect(await read({ path: 'huge.txt', byte_start: 5, byte_end: 10 })).toMatchObject({
      content: 'line\n', bytes: { total: 2 * KB ** 3 },
    })
  })
})

describe('read', () => {
  it('returns text by lines with their range', async () => {
    put('poem.txt', 'one\r\ntwo\nthree\n')
    expect(await read({ path: 'poem.txt' })).toEqual({
      path: 'poem.txt', content: 'one\r\ntwo\nthree\n', lines: { from: 1, to: 3, total: 3 },
    })
    expect(await read({ path: 'poem.txt', offset: 2, limit: 1 })).toEqual({
      path: 'poem.txt', content: 'two\n', lines: { from: 2, to: 2, total: 3 },
    })
    expect(await read({ path: join(workspace, 'poem.txt'), offset: 3 })).toMatchObject({ content: 'three\n' })
  })

  it('reads an empty file', async () => {
    put('empty', '')
    expect(await read({ path: 'empty' })).toEqual({ path: 'empty', content: '', lines: { from: 1, to: 0, total: 0 } })
  })

  it('returns at most 200 KB, cut after a line, with the total number of lines', async () => {
    put('long.txt', '€uro\n'.repeat(100_000))
    const { content, lines } = (await read({ path: 'long.txt' })) as { content: string; lines: JsonObject }
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(200 * KB)
    expect(Buffer.byteLength(content)).toBeGreaterThan(200 * KB - 7)
    expect(content.endsWith('€uro\n')).toBe(true)
    expect(lines).toEqual({ from: 1, to: Math.floor(200 * KB / 7), total: 100_000 })
    expect(await read({ path: 'long.txt', offset: 99_999 })).toMatchObject({
      content: '€uro\n€uro\n', lines: { from: 99_999, to: 100_000, total: 100_000 },
    })
  })

  it.each([
    ['a file that is read in one chunk', 100_000], ['a file that is read in several chunks', 400_000],
  ])('returns where a line that is too long continues: %s', async (_, times) => {
    put('min.js', `first\n${'a€;'.repeat(times)}`)
    const { content, lines, bytes } = (await read({ path: 'min.js', offset: 2 })) as {
      content: string
      lines: JsonObject
      bytes: { to: number }
    }
    expect(lines).toEqual({ from: 2, to: 2, total: 2, cut: true })
    expect(bytes).toEqual({ from: 6, to: 6 + Buffer.byteLength(content), total: 6 + 5 * times })
    const next = (await read({ path: 'min.js', byte_start: bytes.to })) as { content: string; bytes: JsonObject }
    expect(next.bytes).toMatchObject({ from: bytes.to })
    expect(`${content}${next.content}`).toBe('a€;'.repeat(times).slice(0, content.length + next.content.length))
  })

  it('reads the end of a 1 GB file without loading all of it', async () => {
    put('huge', 'first\n')
    truncateSync(join(workspace, 'huge'), 1024 * 1024 * KB)
    const before = process.memoryUsage().rss
    expect(await read({ path: 'huge', byte_start: 1024 * 1024 * KB - 4 })).toMatchObject({
      content: '\0\0\0\0', bytes: { from: 1024 * 1024 * KB - 4, to: 1024 * 1024 * KB },
    })
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * KB)
  })

  it('returns bytes as text if they are UTF-8, otherwise as base64', async () => {
    put('mixed', Uint8Array.of(0x61, 0x62, 0xff, 0xfe))
    expect(await read({ path: 'mixed', byte_start: 0, byte_end: 2 })).toEqual({
      path: 'mixed', content: 'ab', bytes: { from: 0, to: 2, total: 4 },
    })
    expect(await read({ path: 'mixed', byte_start: 2 })).toEqual({
      path: 'mixed', content: '//4=', encoding: 'base64', bytes: { from: 2, to: 4, total: 4 },
    })
  })

  it('returns complete characters and their range if a byte range splits characters', async () => {
    put('euro', 'a€b€c')
    expect(await read({ path: 'euro', byte_start: 2, byte_end: 7 })).toEqual({
      path: 'euro', content: 'b', bytes: { from: 4, to: 5, total: 9 },
    })
    expect(await read({ path: 'euro', byte_start: 0, byte_end: 3 })).toEqual({
      path: 'euro', content: 'a', bytes: { from: 0, to: 1, total: 9 },
    })
    expect(await read({ path: 'euro', byte_start: 2, byte_end: 3 })).toMatchObject({
      encoding: 'base64', bytes: { from: 2, to: 3, total: 9 },
    })
  })

  it.each(['utf-16le', 'utf-16be'])(
    'decodes %s with a byte order mark by lines and by bytes, and returns the encoding',
    async (encoding) => {
      const wide = (text: string) =>
        encoding === 'utf-16le' ? Buffer.from(text, 'utf16le') : Buffer.from(text, 'utf16le').swap16()
      put('wide', wide('\ufeffone ü\r\ntwo 😀 end\r\n'))
      const total = 40
      expect(await read({ path: 'wide' })).toEqual({
        path: 'wide', content: '\ufeffone ü\r\ntwo 😀 end\r\n', lines: { from: 1, to: 2, total: 2 }, encoding,
      })
      expect(await read({ path: 'wide', offset: 2 })).toEqual({
        path: 'wide', content: 'two 😀 end\r\n', lines: { from: 2, to: 2, total: 2 }, encoding,
      })
      expect(await read({ path: 'wide', byte_start: 15, byte_end: 27 })).toEqual({
        path: 'wide', content: 'two ', encoding, bytes: { from: 16, to: 24, total },
      })
      expect(await read({ path: 'wide', byte_start: 26, byte_end: 33 })).toEqual({
        path: 'wide', content: ' e', encoding, bytes: { from: 28, to: 32, total },
      })
      put('long', wide(`\ufefffirst\n${'a€;'.repeat(100_000)}`))
      const { content, bytes } = (await read({ path: 'long', offset: 2 })) as { content: string; bytes: { to: number } }
      expect(bytes).toEqual({ from: 14, to: 14 + 2 * content.length, total: 14 + 600_000 })
      expect(await read({ path: 'long', byte_start: bytes.to })).toMatchObject({
        content: expect.stringMatching(/^[a€;]{1000}/), bytes: { from: bytes.to },
      })
      put('wider', wide(`\ufeff${'line\n'.repeat(900_000)}`))
      await expect(read({ path: 'wider' })).rejects.toMatchObject({
        code: 'InputInvalid',
        message: expect.stringMatching(
          /is utf-16.e and has 9000002 bytes; .* Read a part of it with byte_start and byte_end\.$/,
        ),
      })
    },
  )

  it('limits a range of bytes that is text', async () => {
    put('wordy', 'x'.repeat(400 * KB))
    const { bytes } = await read({ path: 'wordy', byte_start: 0 }) as { bytes: JsonObject }
    expect(bytes).toEqual({ from: 0, to: 200 * KB, total: 400 * KB })
  })

  it('limits base64 to the output limit', async () => {
    put('noise', new Uint8Array(400 * KB).fill(0xff))
    const { content, bytes } = (await read({ path: 'noise', byte_start: 0 })) as { content: string; bytes: JsonObject }
    expect(content).toHaveLength(200 * KB)
    expect(bytes).toEqual({ from: 0, to: 150 * KB, total: 400 * KB })
  })

  it('returns an image as an image', async () => {
    const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3)
    put('dot.png', png)
    expect(await read({ path: 'dot.png' })).toEqual({
      content: [{ type: 'image', data: Buffer.from(png).toString('base64'), mimeType: 'image/png' }],
      structuredContent: { path: 'dot.png', content: 'an image (image/png)', bytes: { from: 0, to: 11, total: 11 } },
    })
  })

  it.each([
    ['a missing file', { path: 'nowhere' }, 'NotFound', /nowhere/],
    ['a folder', { path: '.' }, 'InputInvalid', /folder/],
    ['a binary file', { path: 'binary' }, 'InputInvalid', /byte_start/],
    ['an image of more than 5 MB', { path: 'large.png' }, 'InputInvalid', /is an image of 5242881 bytes/],
    ['lines and bytes at once', { path: 'binary', offset: 1, byte_start: 0 }, 'InputInvalid', /at once/],
    ['a line past the end', { path: 'short', offset: 9 }, 'InputInvalid', /has 1 lines/],
    ['bytes past the end', { path: 'short', byte_start: 9 }, 'InputInvalid', /has 2 bytes/],
    ['a path outside', { path: '../../etc/passwd' }, 'CapabilityDenied', /outside/],
    ['an absolute path outside', { path: '/etc/passwd' }, 'CapabilityDenied', /outside/],
    ['a link out of the workspace', { path: 'link' }, 'CapabilityDenied', /outside/],
    ['a path through a linked folder', { path: 'up/passwd' }, 'CapabilityDenied', /outside/],
  ])('refuses %s', async (_, args, code, message) => {
    put('binary', 'a\0b')
    put('large.png', Buffer.alloc(5 * 1024 * KB + 1, Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)))
    put('short', 'x\n')
    for (const [name, target] of [['link', '/etc/passwd'], ['up', '/etc']] as const) {
      rmSync(join(workspace, name), { force: true })
      symlinkSync(target, join(workspace, name))
    }
    const error = await read(args).then(() => undefined, (thrown: unknown) => thrown)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('stops when the call is cancelled', async () => {
    put('slow', '')
    truncateSync(join(workspace, 'slow'), 512 * 1024 * KB)
    writeFileSync(join(workspace, 'slow'), 'text '.repeat(3000), { flag: 'r+' })
    const cancel = new AbortController()
    const reading = read({ path: 'slow' }, cancel.signal)
    cancel.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
  })

  it('keys approvals by file', async () => {
    const signal = new AbortController().signal
    for (const [path, key] of [
      ['a.txt', 'a.txt'], ['./src//deep/a.txt', 'src/deep/a.txt'], ['/etc/passwd', '/etc/passwd'],
    ] as const) {
      expect(await session.deriveApprovalKey('read', { path }, signal)).toBe(key)
    }
  })

  it('reads files in folders with unusual names', async () => {
    mkdirSync(join(workspace, 'ä b*{c}'))
    put('ä b*{c}/ü.txt', 'ok')
    expect(await read({ path: 'ä b*{c}/ü.txt' })).toMatchObject({ content: 'ok' })
  })
})
