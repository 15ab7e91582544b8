import { expect, it } from 'vitest'
import { readFindRequest, readSearchRequest } from '../../../src/fs/search/request.ts'

it('a search has limits', () => {
  const longest = 'x'.repeat(10_000)
  expect(readSearchRequest(longest, { context: 101, limit: 10_001 })).toMatchObject({ context: 100, limit: 10_000 })
  expect(readFindRequest({ limit: 1_000_000 })).toMatchObject({ limit: 10_000 })
  expect(readFindRequest(undefined)).toMatchObject({ limit: 10_000 })
  expect(() => readSearchRequest(`${longest}x`, {})).toThrow('longer than 10000 characters')
})
