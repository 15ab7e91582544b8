import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { caller, OpenapiFixture, namesOf } from './fixture.ts'
import { findDocuments } from './public-documents.ts'

const documents = findDocuments()
const textOf = (file: string): string => gunzipSync(readFileSync(join(documents!, `${file}.gz`))).toString()

let fixture: OpenapiFixture
beforeEach(async () => {
  fixture = await OpenapiFixture.create()
})
afterEach(() => fixture.remove())

/** The offered operations of a document, read in pages of the maximum size, and the diagnostics for the rest. */
async function offeredOf(file: string) {
  const text = textOf(file)
  fixture.inHome(text, file)
  const ids = [...text.matchAll(/"?operationId"?: ?"?([\w./-]+)/g)].map(([, id]) => id!)
  const parts = Array.from({ length: Math.ceil(ids.length / 100) }, (_, at) => ids.slice(at * 100, at * 100 + 100))
  fixture.configure(Object.fromEntries(parts.map((operations, at) =>
    [`part${at}`, { document: file, baseUrl: fixture.shop.url, prefix: `p${at}`, operations }])))
  const host = await fixture.open()
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

  // Omitted from Kubernetes: schemas over 64 kB. From the others: file bodies, and operations over the limit.
  const small: readonly (readonly [string, number, number])[] = [['petstore.yaml', 18, 1]]
  const large = [['k8s-apps.json', 65, 12], ['k8s-core.json', 238, 10], ['stripe.json', 416, 1], ['discord.json', 229, 13]] as const
  it.each(thoroughly(small, [...small, ...large]))('offers every operation of %s except the listed ones', async (file, most, few) => {
    if (documents === undefined) return
    const { offered, dropped, faults } = await offeredOf(file)
    expect([offered.length, dropped.length]).toEqual([most, few])
    expect(dropped.filter((id) => !faults.some(({ path, message }) => path.includes(id) || message.includes(`"${id}"`)))).toEqual([])
  })

  it.runIf(thoroughly(false, true))('encodes the forms of Stripe with brackets', async () => {
    if (documents === undefined) return
    fixture.inHome(textOf('stripe.json'), 'stripe.json')
    fixture.configure({ stripe: { document: 'stripe.json', baseUrl: fixture.shop.url, operations: ['PostCheckoutSessions', 'PostCustomers'] } })
    const call = await caller(await fixture.open())
    expect(await call('PostCustomers', { body: { name: 'Ada', metadata: { order: '7' }, expand: ['sources'] } })).toMatchObject({ type: 'output' })
    expect(await call('PostCheckoutSessions', { body: { cancel_url: 'no', success_url: 'yes', payment_method_types: ['card'], line_items: [{ price: 'p1', quantity: 2 }, { price: 'p2' }] } })).toMatchObject({ type: 'output' })
    expect(fixture.shop.seen.map(({ body }) => decodeURIComponent(body))).toEqual([
      'name=Ada&metadata[order]=7&expand[0]=sources', 'cancel_url=no&success_url=yes&payment_method_types[0]=card&line_items[0][price]=p1&line_items[0][quantity]=2&line_items[1][price]=p2',
    ])
  })
})
