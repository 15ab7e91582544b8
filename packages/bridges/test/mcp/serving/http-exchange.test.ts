import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { jsonBody, send } from '../../../src/mcp/serving/http-exchange.ts'

async function client(listener: RequestListener): Promise<Socket> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  await once(socket, 'connect')
  return socket
}

it('a body whose length is too long is not read', async () => {
  const read = Promise.withResolvers<unknown>()
  const socket = await client((req) => void jsonBody(req).then(read.resolve, read.reject))
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000001\r\n\r\n{}')
  socket.end()
  await expect(read.promise).rejects.toMatchObject({ status: 413 })
})

it('a client that does not read a stream is disconnected', async () => {
  const end = Promise.withResolvers<string>()
  const part = new Uint8Array(4_000_000)
  let parts = 0
  const body = new ReadableStream({
    async pull(controller) {
      await setImmediate()
      if (parts++ < 20) return controller.enqueue(part)
      controller.close()
      end.resolve('sent whole')
    },
    cancel: () => end.resolve('disconnected'),
  })
  const socket = await client((_, res) => void send(res, new Response(body)))
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await end.promise).toBe('disconnected')
})
