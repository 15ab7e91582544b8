import { expect, it } from 'vitest'
import * as store from '../src/index.ts'

it('the package exports the documented names', () => {
  expect(Object.keys(store).toSorted())
    .toEqual([
      'addPool', 'addTenant', 'listPools', 'listTenants', 'maintainPostgres', 'migratePostgres', 'openPostgresStore',
      'postgresStatus', 'readStoreUrl', 'removePool', 'removeTenant', 'tenantUrl',
    ])
})
