import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { StoreFolder } from './store-folder.ts'

it('shows changes of another connection immediately', async () => {
  await using folder = new StoreFolder()
  const [here, there] = [await folder.open(), await folder.open()]
  const before = here.approvalRevision!()
  await there.write('approval', 'a', 1)
  const written = here.approvalRevision!()
  expect(written).not.toBe(before)
  await there.remove('approval', 'a')
  expect(here.approvalRevision!()).not.toBe(written)
  await there.write('call', 'a', 1)
  expect(here.approvalRevision!()).toBe(there.approvalRevision!())
})

it('loses no change when two connections update the same record', async () => {
  await using folder = new StoreFolder()
  const stores = [await folder.open(), await folder.open()]
  await Promise.all(Array.from({ length: 40 }, (_, index) =>
    stores[index % 2]!.update('approval', 'a', (value) => Number(value ?? 0) + 1)))
  expect(await stores[0]!.read('approval', 'a')).toBe(40)
})

it('migrates a store of the previous version without losing records', async () => {
  await using folder = new StoreFolder()
  const first = await folder.open()
  await first.write('approval', 'a', 1)
  await first.close()
  const database = new DatabaseSync(folder.file)
  database.exec(`DROP TRIGGER approval_added; DROP TRIGGER approval_changed; DROP TRIGGER approval_removed;
    DROP TABLE approval_revision; DROP TABLE audit_start; PRAGMA user_version = 1`)
  database.close()
  const again = await folder.open()
  expect(await again.read('approval', 'a')).toBe(1)
  const before = again.approvalRevision!()
  await again.write('approval', 'a', 2)
  expect(again.approvalRevision!()).not.toBe(before)
})
