import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { Database, statement } from '../../src/connection/database.ts'
import { readStoreUrl } from '../../src/connection/store-url.ts'

describe('a connection', needs('PostgreSQL'), () => {
  it('compiles no statement, and keeps the options of the URL', async () => {
    const { url } = await sharedPostgres()
    const database = new Database(readStoreUrl(`${url(newSchema())}&options=-c%20work_mem%3D1MB`))
    expect(await database.query(statement('', 'SHOW jit'))).toEqual([{ jit: 'off' }])
    expect(await database.query(statement('', 'SHOW work_mem'))).toEqual([{ work_mem: '1MB' }])
    await database.close()
  })
})
