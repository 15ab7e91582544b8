import { expect, it } from 'vitest'
import { ProtectedPlaces } from '../src/policy/protected-places.ts'

it('a place that ends in - includes the files beside it, and no others', () => {
  const places = new ProtectedPlaces(['/data/store.db', '/data/store.db-'])
  const isNever = (path: string): boolean => places.find(path, '/data')?.strength === 'never'
  expect(['/data/store.db', '/data/store.db-wal', '/data/store.db-undo', '/data/STORE.DB-shm'].filter(isNever))
    .toHaveLength(4)
  expect(['/data/store', '/data/store.dbx', '/data/other-wal', '/store.db-wal'].filter(isNever)).toEqual([])
})
