import { expect, it } from 'vitest'
import * as store from '../src/index.ts'

it('the package exports the documented names', () => {
  expect(Object.keys(store).toSorted())
    .toEqual([
      'addTenant', 'listTenants', 'migratePostgres', 'openPostgresStore', 'postgresStatus', 'readStoreUrl',
      'removeTenant', 'tenantUrl',
    ])
})
