import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Ground, namesOf } from './ground.ts'

const IN_SHARED = 'shared/fixtures/openapi'

/** Public documents, where a folder above the repository has them. */
function findDocuments(from = import.meta.dirname): string | undefined {
  if (existsSync(join(from, IN_SHARED))) return join(from, IN_SHARED)
  return dirname(from) === from ? undefined : findDocuments(dirname(from))
}

const documents = findDocuments()
const textOf = (file: string): string => gunzipSync(readFileSync(join(documents!, `${file}.gz`))).toString()

let ground: Ground
beforeEach(async () => {
  ground = await Ground.enter()
})
afterEach(() => ground.leave())

/** What of a document is offered, asked for as many at a time as a document may have, and what is told of the rest. */
async function offeredOf(file: string) {
  const text = textOf(file)
  ground.inHome(text, file)
  const ids = [...text.matchAll(/"?operationId"?: ?"?([\w./-]+)/g)].map(([, id]) => id!)
  const parts = Array.from({ length: Math.ceil(ids.length / 100) }, (_, at) => ids.slice(at * 100, at * 100 + 100))
  ground.configure(Object.fromEntries(parts.map((operations, at) =>
    [`part${at}`, { document: file, baseUrl: ground.shop.url, prefix: `p${at}`, operations }])))
  const host = await ground.open()
  const offered = namesOf(host)
  // A long name ends in a digest.
  const plain = (name: string) => name.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 50)
  const names = new Set(offered.map((name) => plain(name.replace(/^p\d+__/, ''))))
  const dropped = ids.filter((id) => !names.has(plain(id)))
  const faults = host.diagnostics.filter(({ severity }) => severity === 'error')
  return { offered, dropped, faults }
}

describe('public OpenAPI documents', () => {
  it(`are ${documents === undefined ? 'not on this machine: none of them was read' : 'here'}`, () => {
    expect(documents === undefined || existsSync(join(documents, 'k8s-core.json.gz'))).toBe(true)
  })

  // What is left out of Kubernetes has schemas of more than 64 kB; of the others, bodies that are files, or more than a document may have.
  it.each([
    ['k8s-core.json', 238, 10], ['k8s-apps.json', 65, 12], ['stripe.json', 416, 1], ['discord.json', 229, 13], ['petstore.yaml', 18, 1],
  ])('%s is offered but for what is named', async (file, most, few) => {
    if (documents === undefined) return
    const { offered, dropped, faults } = await offeredOf(file)
    expect([offered.length, dropped.length]).toEqual([most, few])
    expect(dropped.filter((id) => !faults.some(({ path, message }) => path.includes(id) || message.includes(`"${id}"`)))).toEqual([])
  })
})
