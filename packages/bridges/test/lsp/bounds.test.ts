import { expect, it } from 'vitest'
import { answerTo } from '../../src/lsp/client-capabilities.ts'
import { JsonRpcPeer } from '../../src/lsp/json-rpc.ts'
import { OpenDocuments } from '../../src/lsp/open-documents.ts'
import { PublishedDiagnostics } from '../../src/lsp/published-diagnostics.ts'
import { ServerActivity } from '../../src/lsp/server-activity.ts'

const peer = () => new JsonRpcPeer(async () => undefined, { onRequest: () => null, onNotification: () => undefined })
const note = (text = '') => JSON.stringify({ jsonrpc: '2.0', method: 'note', params: { text } })

it.each([['messages', note(), 20_000], ['characters', note('x'.repeat(1024 * 1024)), 63]])(
  'a server may send a number of %s without being asked',
  (_, message, most) => {
    const server = peer()
    for (let index = 0; index < most; index++) server.receive(message)
    expect(() => server.receive(message)).toThrow('too many messages without being asked')
  },
)

it('an answer allows as many messages again', async () => {
  const server = peer()
  const answer = server.request('ask', undefined, AbortSignal.timeout(60_000))
  for (let index = 0; index < 19_999; index++) server.receive(note())
  server.receive(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: 7, message: 'x'.repeat(5_000) } }))
  server.receive(note())
  await expect(answer).rejects.toMatchObject({ code: 7, message: 'x'.repeat(2_000) })
})

it('work beyond 1000 tokens does not keep a server busy', () => {
  const activity = new ServerActivity()
  const report = (token: number, kind: string) => activity.notice('$/progress', { token, value: { kind } })
  for (let token = 0; token <= 1_000; token++) report(token, 'begin')
  for (let token = 0; token < 1_000; token++) report(token, 'end')
  expect(activity.isBusy).toBe(false)
})

it('a server gets at most 1000 sections of a configuration', () => {
  const items = Array.from({ length: 1_001 }, () => ({}))
  expect(answerTo('workspace/configuration', { items }, { uri: 'file:///w', name: 'w' })).toHaveLength(1_000)
})

it('at most 64 documents are open, those used last', () => {
  const sent: string[] = []
  const documents = new OpenDocuments({
    notify(method, params) {
      const { textDocument } = params as { readonly textDocument: { readonly uri: string } }
      sent.push(`${method} ${textDocument.uri}`)
    },
  })
  for (let index = 0; index < 64; index++) documents.sync(`file:///${index}`, 'x', '')
  documents.sync('file:///0', 'x', '')
  sent.length = 0
  documents.sync('file:///64', 'x', '')
  expect(sent).toEqual(['textDocument/didOpen file:///64', 'textDocument/didClose file:///1'])
})

it('the diagnostics of the last 500 files are kept', async () => {
  const published = new PublishedDiagnostics(20)
  const settled = (others: number) => {
    const uri = 'file:///w/a'
    const found = published.settled({ uri, version: 1 }, AbortSignal.timeout(60_000))
    published.notice({ uri, diagnostics: [1] })
    for (let index = 0; index < others; index++) published.notice({ uri: `file:///w/${index}`, diagnostics: [] })
    return found
  }
  expect([await settled(499), await settled(500)]).toEqual([[1], undefined])
})
