import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import type { NetLimits } from '../../src/net/limits.ts'
import {
  callOf, closed, codeOf, fetchRaw, newNet, reach, readRaw, refusal, errorWith, serve, serveRaw,
} from './loopback.ts'

const TEXT = 'Watertight. '.repeat(10_000)
/** The best quality, which is the default, takes seconds for a bomb. */
const brotli = (text: string | Buffer): Buffer =>
  brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
const CODINGS: Readonly<Record<string, (text: string | Buffer) => Buffer>> = {
  gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotli, zstd: zstdCompressSync, GZIP: gzipSync,
}
/** Without the other names of gzip, which `pnpm soak` tries too. */
const DECODERS = Object.keys(CODINGS).filter((coding) => thoroughly(!/gzip/i.test(coding) || coding === 'gzip', true))

async function answering(answer: (response: ServerResponse) => void, limits: Partial<NetLimits> = {}) {
  const server = await serve((_request, response) => answer(response))
  const [net, call] = [newNet({ limits }), callOf([server.place])]
  return { server, net, call, url: `${server.base}/`, tool: reach(net, call) }
}

/** Writes as long as the peer reads. */
function endless(response: ServerResponse, piece: Buffer, wrote: (bytes: number) => void = () => undefined): void {
  const more = (): void => {
    for (let room = true; room && !response.destroyed;) {
      room = response.write(piece)
      wrote(piece.length)
    }
  }
  response.on('drain', more)
  more()
}

describe('the body of a response', () => {
  it.each(Object.keys(CODINGS))('is decoded from %s, and the headers describe the decoded body', async (coding) => {
    const packed = CODINGS[coding]!(TEXT)
    const head = { 'content-encoding': coding, 'content-length': packed.length }
    const { tool, url } = await answering((response) => response.writeHead(200, head).end(packed))
    const response = await tool.fetch(url)
    expect(response.headers).not.toHaveProperty('content-encoding')
    expect(response.headers).not.toHaveProperty('content-length')
    expect(await response.text()).toBe(TEXT)
  })

  it.each(['gzip, gzip', 'compress', 'identity', 'constructor'])('in %s is passed on unchanged', async (coding) => {
    const { tool, url } = await answering((response) => response.setHeader('content-encoding', coding).end('as it is'))
    const response = await tool.fetch(url)
    expect([response.headers['content-encoding'], await response.text()]).toEqual([coding, 'as it is'])
  })

  it.each(Object.keys(CODINGS))('without bytes is empty in %s', async (coding) => {
    const { tool, url } = await answering((response) => response.setHeader('content-encoding', coding).end())
    expect(await (await tool.fetch(url)).text()).toBe('')
  })

  it.each(Object.keys(CODINGS))('fails if it is invalid or truncated %s', async (coding) => {
    const packed = CODINGS[coding]!(TEXT)
    const broken = [
      Buffer.from('not compressed at all, and long enough to be noticed'), packed.subarray(0, packed.length - 9),
    ]
    const { tool, url } = await answering((response) => response.setHeader('content-encoding', coding)
      .end(broken.shift()))
    for (let count = 0; count < 2; count++) {
      const error = await refusal((await tool.fetch(url)).text())
      expect(error)
        .toMatchObject(errorWith('ToolExecutionFailed', 'The host 127.0.0.1 sent a body that cannot be decompressed.'))
    }
  })

  it('fails if its window needs more memory than allowed', async () => {
    const packed = zstdCompressSync(randomBytes(9 * 1024 * 1024), { params: { [constants.ZSTD_c_windowLog]: 27 } })
    const { tool, url } = await answering((response) => response.setHeader('content-encoding', 'zstd').end(packed))
    expect(await refusal((await tool.fetch(url)).bytes()))
      .toMatchObject(errorWith('ToolExecutionFailed', 'cannot be decompressed'))
  })

  it('waits for decoder memory until another body has ended', async () => {
    const packed = brotli(randomBytes(400_000))
    const { net, call, url } = await answering(
      (response) => response.setHeader('content-encoding', 'br').end(packed), { decoderBytes: 45_000_000 },
    )
    const [first, second, third] = [
      await fetchRaw(net, call, url), await fetchRaw(net, call, url), await fetchRaw(net, call, url),
    ]
    const order: string[] = []
    const reading = async (name: string, { bodyId }: JsonObject): Promise<void> => {
      await readRaw(net, call, bodyId!)
      order.push(name)
    }
    await Promise.all([reading('first', first), reading('second', second)])
    const waiting = reading('third', third)
    await readRaw(net, call, first.bodyId!)
    order.push('first again')
    await net.capabilities['net.read']!(call, [second.bodyId!, 'drop'])
    await waiting
    expect(order.slice(2)).toEqual(['first again', 'third'])
  })

  it.each(['br', 'zstd', 'gzip'])('in %s fails with ResourceBusy if no decoder memory becomes free', async (coding) => {
    const packed = CODINGS[coding]!(TEXT)
    const answer = (response: ServerResponse): unknown => response.setHeader('content-encoding', coding).end(packed)
    const { tool, url } = await answering(answer, { decoderBytes: 1_000, idleMs: 50 })
    const response = await tool.fetch(url)
    expect(await refusal(response.text()))
      .toMatchObject(errorWith('ResourceBusy', 'The compartment has no memory left for another compressed body.'))
  })

  it('uses no decoder before it is read or after it was discarded', async () => {
    const packed = brotli(TEXT)
    const { net, call, url, tool } = await answering(
      (response) => response.setHeader('content-encoding', 'br').end(packed), { decoderBytes: 21_000_000 },
    )
    await Promise.all(Array.from({ length: 8 }, () => fetchRaw(net, call, url)))
    for (let count = 0; count < 3; count++) {
      const { bodyId } = await fetchRaw(net, call, url)
      await readRaw(net, call, bodyId!)
      await net.capabilities['net.read']!(call, [bodyId!, 'drop'])
    }
    const texts = await Promise.all(Array.from({ length: 4 }, async () => (await tool.fetch(url)).text()))
    expect(new Set(texts)).toEqual(new Set([TEXT]))
  })

  it('arrives in chunks of at most 64 KB', async () => {
    const { net, call, url } = await answering((response) => response.end(Buffer.alloc(1_000_000, 7)))
    const { bodyId } = await fetchRaw(net, call, url)
    const sizes: number[] = []
    for (let piece = await readRaw(net, call, bodyId!); piece !== null; piece = await readRaw(net, call, bodyId!)) {
      sizes.push(Buffer.from(piece as string, 'base64').length)
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_000_000)
  })

  it('arrives in few chunks, however small the sender splits it', LONG, async () => {
    const server = await serveRaw((socket) => socket.once('data', () =>
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(30_000)}0\r\n\r\n`)))
    const [net, call] = [newNet(), callOf([server.place])]
    const { bodyId } = await fetchRaw(net, call, `${server.base}/`)
    let [pieces, bytes] = [0, 0]
    for (let piece = await readRaw(net, call, bodyId!); piece !== null; piece = await readRaw(net, call, bodyId!)) {
      pieces++
      bytes += Buffer.from(piece as string, 'base64').length
    }
    expect(bytes).toBe(30_000)
    expect(pieces).toBeLessThan(3_000)
  })

  it('arrives in order for concurrent reads', async () => {
    const bytes = Buffer.from(Array.from({ length: 500_000 }, (_, index) => index % 251))
    const { net, call, url } = await answering((response) => response.end(bytes))
    const { bodyId } = await fetchRaw(net, call, url)
    const pieces = await Promise.all(Array.from({ length: 200 }, () => readRaw(net, call, bodyId!)))
    expect(Buffer.concat(pieces.map((piece) => Buffer.from((piece ?? '') as string, 'base64'))).equals(bytes))
      .toBe(true)
    expect(pieces.at(-1)).toBeNull()
  })

  it('is not received before it is read', LONG, async () => {
    const written = { '/read': 0, '/unread': 0 }
    const server = await serve((request, response) => endless(response, Buffer.alloc(64 * 1024), (bytes) => {
      written[request.url as '/read' | '/unread'] += bytes
    }))
    const [net, call] = [newNet(), callOf([server.place])]
    await fetchRaw(net, call, `${server.base}/unread`)
    const { body } = await reach(net, call).fetch(`${server.base}/read`)
    // The unread body could have sent as much as was read of the other. System buffers hold some of it.
    let taken = 0
    for await (const piece of body) if ((taken += piece.length) > 30 * 1024 * 1024) break
    expect(written['/read']).toBeGreaterThan(30 * 1024 * 1024)
    expect(written['/unread']).toBeLessThan(20 * 1024 * 1024)
  })

  it('fails at the byte limit if it is endless', async () => {
    const zeros = Buffer.alloc(64 * 1024)
    const { server, tool, url } = await answering((response) => endless(response, zeros), { bodyBytes: 1_000_000 })
    const response = await tool.fetch(url)
    const gone = closed(server.sockets[0]!)
    expect(await refusal(response.bytes())).toMatchObject(errorWith('OutputTooLarge', 'has more than 1000000 bytes'))
    await gone
  })

  it.each(Object.keys(CODINGS))('fails at the byte limit after decompressing %s', async (coding) => {
    // Random, so that it reaches the size limit and not the ratio.
    const text = randomBytes(225_000).toString('base64')
    const packed = CODINGS[coding]!(text)
    const answer = (response: ServerResponse): unknown => response.setHeader('content-encoding', coding).end(packed)
    const { tool, url } = await answering(answer, { bodyBytes: 250_000 })
    expect(await codeOf((await tool.fetch(url)).bytes())).toBe('OutputTooLarge')
  })

  const bombs = new Map<(text: Buffer) => Buffer, Buffer>()
  it.each(DECODERS)('fails if it is a %s bomb', async (coding) => {
    const compress = CODINGS[coding]!
    const bomb = bombs.get(compress) ?? compress(Buffer.alloc(16 * 1024 * 1024, '0'))
    bombs.set(compress, bomb)
    const { tool, url } = await answering((response) => response.setHeader('content-encoding', coding).end(bomb))
    const response = await tool.fetch(url)
    let taken = 0
    const read = async (): Promise<void> => {
      for await (const piece of response.body) taken += piece.length
    }
    expect(await refusal(read()))
      .toMatchObject(errorWith('OutputTooLarge', 'decompresses to more than 200 times its size'))
    expect(taken).toBeLessThan(12 * 1024 * 1024)
  })

  it('fails if it is endless and decompresses to nothing', async () => {
    // The header of a gzip member, then empty stored blocks.
    const blocks = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])))
    const { tool, url } = await answering((response) => {
      response.setHeader('content-encoding', 'gzip').write(gzipSync('').subarray(0, 10))
      endless(response, blocks)
    }, { bodyBytes: 1_000_000 })
    expect(await codeOf((await tool.fetch(url)).bytes())).toBe('OutputTooLarge')
  })

  it('fails after the idle timeout and closes the connection', async () => {
    const { server, net, call, url } = await answering((response) => response.write('first'), { idleMs: 50 })
    const { bodyId } = await fetchRaw(net, call, url)
    const gone = closed(server.sockets[0]!)
    const [first, second, third] = [
      readRaw(net, call, bodyId!), readRaw(net, call, bodyId!), readRaw(net, call, bodyId!),
    ]
    expect(await first).toBe(Buffer.from('first').toString('base64'))
    const silent = errorWith('ToolExecutionFailed', 'sent nothing for 50 ms')
    expect(await Promise.all([refusal(second), refusal(third)])).toMatchObject([silent, silent])
    await gone
  })

  it('fails if the connection ends early', async () => {
    const { tool, url } = await answering((response) => {
      response.setHeader('content-length', '10').write('half', () => response.destroy())
    })
    const response = await tool.fetch(url)
    const error = await refusal(response.text())
    expect(error)
      .toMatchObject(errorWith('ToolExecutionFailed', 'The host 127.0.0.1 closed the connection before it answered.'))
  })
})

describe('the head of a response', () => {
  const fromRaw = async (...lines: string[]) => {
    const answer = [...lines, '', 'body'].join('\r\n')
    const { port } = await serveRaw((socket) => socket.once('data', () => socket.end(answer, 'latin1')))
    return fetchRaw(newNet(), callOf([`127.0.0.1:${port}`]), `http://127.0.0.1:${port}/`)
  }

  it('hides __proto__ and keeps names such as constructor', async () => {
    const names = ['__proto__: a', '__proto__: b', 'constructor: c', 'toString: d', 'content-length: 4']
    const { headers } = await fromRaw('HTTP/1.1 200 OK', ...names)
    expect(headers).toEqual({ constructor: 'c', tostring: 'd', 'content-length': '4' })
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
  })

  it('has no headers of the connection', async () => {
    const hidden = [
      'connection: close, x', 'keep-alive: timeout=5', 'proxy-authenticate: x', 'upgrade: h2c', 'trailer: x',
    ]
    const { headers } = await fromRaw('HTTP/1.1 200 OK', ...hidden, 'x-own: 1')
    expect(headers).toEqual({ 'x-own': '1' })
  })

  it('fails with too many headers', async () => {
    const many = Array.from({ length: 300 }, (_, index) => `x-${index}: 1`)
    expect(await codeOf(fromRaw('HTTP/1.1 200 OK', ...many))).toBe('ToolExecutionFailed')
    expect(await codeOf(fromRaw('HTTP/1.1 200 OK', ...Array.from({ length: 300 }, () => 'x: 1'))))
      .toBe('ToolExecutionFailed')
    expect(await codeOf(fromRaw('HTTP/1.1 200 OK', `x-a: ${'x'.repeat(40 * 1024)}`))).toBe('ToolExecutionFailed')
  })

  it.each([
    ['not HTTP', ['SSH-2.0-OpenSSH']],
    ['a response with two lengths', ['HTTP/1.1 200 OK', 'content-length: 4', 'content-length: 400']],
    ['a response with a length and a transfer encoding', [
      'HTTP/1.1 200 OK', 'content-length: 4', 'transfer-encoding: chunked',
    ]],
    ['a switch to a protocol that was not requested', [
      'HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket',
    ]],
    ['a response with a malformed header', ['HTTP/1.1 200 OK', 'x y: 1']],
  ])('fails if it is %s', async (_name, lines) => {
    expect(await codeOf(fromRaw(...lines))).toBe('ToolExecutionFailed')
  })
})
