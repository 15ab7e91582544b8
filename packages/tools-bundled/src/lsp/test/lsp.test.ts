import { CODE_ITEMS, type CodeLocation, type LanguageServers } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { toolSession } from '../../../test/tool-session.ts'

let count = 0
const references: LanguageServers['references'] = async () =>
  Array.from({ length: count }, (_, line): CodeLocation => ({
    path: '/o', isOutside: true, start: { line, character: 0 },
  }))
const { call, put } = toolSession(
  'lsp', {}, { bundled: { languageServers: async () => ({ references }) as LanguageServers } },
)

it('says that an answer may lack some', async () => {
  await put('a.ts', 'a\n')
  for (count of [2, CODE_ITEMS]) {
    const { total, incomplete = false } = await call({ action: 'references', path: 'a.ts', line: 1, column: 1 })
    expect([total, incomplete]).toEqual([count, count === CODE_ITEMS])
  }
})
