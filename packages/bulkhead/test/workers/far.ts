import type { ManifestInput } from '@bulkhead/contract'
import { writeExtension } from '../extension-folder.ts'

const WRITES = { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } }
type Tools = Parameters<typeof writeExtension>[1]['tools']
const tool = (name: string, of: Partial<ManifestInput['tools'][number]> = {}): Tools[number] =>
  ({ name, requires: {}, mode: 'external', gated: true, effects: 'once', ...of })

const toolsWith = (place: string): Tools => {
  const requires = { net: { hosts: [place] } }
  return [
    tool('where', { mode: 'read', gated: false, effects: 'none' }),
    tool('talks', { requires: { capabilities: ['interact', 'tools.call', 'session'] } }),
    tool('large', { mode: 'read', gated: false, effects: 'none' }),
    tool('waits', { mode: 'read', gated: false, effects: 'none' }),
    tool('writes', { requires: WRITES }),
    tool('acts_twice', { requires }),
    tool('acts_again', { requires, effects: 'idempotent' }),
    tool('looks_and_acts', { requires }),
    tool('looks', { requires, mode: 'read', effects: 'none' }),
    tool('pays', { requires }),
  ]
}

const CODE = `
const post = async (runtime, url, what) => {
  const response = await runtime.net.fetch(url, { method: 'POST', body: what })
  return response.status
}
const look = async (runtime, url) => (await runtime.net.fetch(url)).status
const acts = async ({ url, what }, runtime) => {
  const about = what + ' ' + runtime.call.idempotencyKey
  return [await post(runtime, url, 'first ' + about), await post(runtime, url, 'second ' + about)]
}
export default { tools: {
  where: { execute: () => ({ pid: process.pid }) },
  talks: { async execute({ n }, runtime) {
    runtime.log.info('said')
    runtime.progress('half')
    runtime.update({ n })
    const before = await runtime.state.read()
    await runtime.state.write({ n })
    const seen = await runtime.session.read()
    await runtime.session.write({ n })
    const near = await runtime.tools.call('near', { n })
    const kept = await runtime.step('kept', () => n + 1)
    return { answer: await runtime.interact.ask('Which port?'), before, seen, near: near.data, kept }
  } },
  large: { execute: ({ chars }) => 'x'.repeat(chars) },
  waits: { execute: (_, runtime) => new Promise((resolve, reject) => {
    runtime.signal.addEventListener('abort', () => reject(runtime.signal.reason))
    runtime.progress('waits')
  }) },
  writes: { async execute({ path }, runtime) {
    await runtime.fs.write(path, 'far')
    return (await runtime.fs.list('.')).map(({ name }) => name)
  } },
  looks: { execute: ({ url }, runtime) => look(runtime, url) },
  looks_and_acts: { async execute({ url, what }, runtime) {
    await look(runtime, url)
    return post(runtime, url, what)
  } },
  acts_twice: { execute: acts }, acts_again: { execute: acts },
  pays: { async execute({ url }, runtime) {
    const key = await runtime.secrets.handle('PAY_KEY')
    const response = await runtime.net.fetch(url, { headers: { authorization: 'Bearer ' + key } })
    return { key, text: await response.text() }
  } },
} }`

/** Writes the extension `far`, whose tools show what crosses between a caller and a worker. `place`: host and port. */
export function writeFar(home: string, place = '127.0.0.1:1'): void {
  writeExtension(home, {
    id: 'far', tools: toolsWith(place), stateSlot: { slotVersion: '1', schema: {} },
    secrets: [{ name: 'PAY_KEY', hosts: [place] }],
  }, CODE)
}
