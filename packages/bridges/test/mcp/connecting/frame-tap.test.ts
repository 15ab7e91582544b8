import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import type { ServerFrame } from '../../../src/mcp/index.ts'
import { FrameTap } from '../../../src/mcp/connecting/frame-tap.ts'
import { Setup, call, connectedTo, now, resolved } from './setup.ts'

let setup: Setup
beforeEach(() => { setup = new Setup() })
afterEach(() => setup.close())

it('shows the messages of a server in both directions, while someone watches', async () => {
  const servers = setup.open()
  const extension = await connectedTo(servers, resolved({ ship: setup.sdk() }))
  const frames: ServerFrame[] = []
  expect(servers.watchFrames('boat', () => undefined)).toBeUndefined()
  const watch = servers.watchFrames('ship', (frame) => void frames.push(frame))!
  await call(extension, 'ship_echo', { text: 'ahoy' })
  watch.stop()
  await call(extension, 'ship_echo', { text: 'later' })
  expect(frames.map(({ direction }) => direction)).toEqual(['out', 'in'])
  expect(JSON.parse(frames[0]!.text)).toMatchObject({ method: 'tools/call', params: { arguments: { text: 'ahoy' } } })
  expect(frames[1]!.text).toMatch('ahoy')
  // The handshake was before, and is kept.
  const first = watch.first()
  const methods = first.map(({ text }) => (JSON.parse(text) as { readonly method?: string }).method)
  expect(methods.slice(0, 4)).toEqual(['initialize', undefined, 'notifications/initialized', 'tools/list'])
  expect([first.length, first.map(({ seq }) => seq)]).toEqual([8, [1, 2, 3, 4, 5, 6, 7, 8]])
})

async function showsHandshake(...more: readonly string[]): Promise<void> {
  const servers = setup.open()
  const frames: ServerFrame[] = []
  const { command } = setup.sdk() as { command: readonly string[] }
  servers.offer(resolved({ ship: setup.sdk({ command: [...command, ...more] }) }))
  servers.watchFrames('ship', (frame) => void frames.push(frame))
  await servers.connect(now())
  const answers = frames.map(({ direction, text }): Record<string, unknown> => ({ direction, ...JSON.parse(text) }))
  // A subscription is answered by notifications.
  const asked = answers.filter(({ direction, id, method }) =>
    direction === 'out' && method && id !== undefined && method !== 'subscriptions/listen')
  const answered = answers.filter(({ direction, result, error }) => direction === 'in' && (result ?? error))
  expect(asked.length).toBeGreaterThan(1)
  expect(answered.map(({ id }) => id)).toEqual(asked.map(({ id }) => id))
}
it('shows the whole handshake of the newer protocol, once', () => showsHandshake('modern'))
it('shows the whole handshake of the older protocol, once', LONG, () => showsHandshake())

it('cuts long messages, and removes secrets', () => {
  const tap = new FrameTap()
  const frames: ServerFrame[] = []
  tap.watch((frame) => void frames.push(frame))
  tap.note('in', { token: 'abcdefgh', more: 'x'.repeat(20_000) }, (text) => text.replace('abcdefgh', '[secret TOKEN]'))
  expect(frames).toEqual([expect.objectContaining({ cut: true, text: expect.stringContaining('[secret TOKEN]') })])
  expect([frames[0]!.text.length, frames[0]!.bytes > 20_000]).toEqual([16 * 1024, true])
})
