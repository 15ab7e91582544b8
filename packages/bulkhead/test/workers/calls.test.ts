import { expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { NO_PAUSE, writeExtension } from '../extension-folder.ts'
import { Fleet } from './fleet.ts'

const CODE = 'export default { tools: { where: { execute: () => ({ pid: process.pid }) } } }'

it('a call runs on a worker that trusts its package', needs('PostgreSQL'), async () => {
  await using fleet = await Fleet.open()
  writeExtension(fleet.home, { id: 'far', tools: [{ name: 'where', requires: {} }] }, CODE)
  const host = await fleet.host({ config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['gpu'] } } } } })
  const session = await host.openSession()
  const call = (id: string) => session.call({ id, name: 'where', arguments: {} })
  expect(await call('none')).toMatchObject({ type: 'error', error: { code: 'NoWorkerReady' } })
  const worker = fleet.worker()
  await expect.poll(() => worker.said('ready'), { timeout: 30_000 }).toBeDefined()
  expect(await call('untrusted')).toMatchObject({ type: 'error', error: { code: 'WorkerRefused' } })
  fleet.trustPackages(host)
  expect(await call('trusted')).toMatchObject({ type: 'output' })
  expect(await host.workers()).toMatchObject([{ labels: ['gpu'], state: 'ready', load: 0, pid: worker.child.pid }])
})
