import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { publicData } from '../../../../scripts/public-data.ts'
import { ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { caller, OpenapiFixture } from './fixture.ts'

const textOf = (file: string): string => gunzipSync(readFileSync(publicData(`openapi/${file}.gz`)!)).toString()

let fixture: OpenapiFixture
beforeEach(async () => {
  fixture = await OpenapiFixture.create()
})
afterEach(() => fixture.remove())

/** The offered operations of a document, its operationIds, and the diagnostics for the rest. */
async function offeredOf(file: string) {
  const text = textOf(file)
  fixture.inHome(text, file)
  const ids = [...text.matchAll(/"?operationId"?: ?"?([\w./-]+)/g)].map(([, id]) => id!)
  fixture.configure({ all: { document: file, baseUrl: fixture.shop.url } })
  const host = await fixture.open()
  const tools = host.tools().filter(({ server }) => server !== undefined)
  return { host, ids, tools }
}

describe('public OpenAPI documents', needs('public test data'), () => {
  const small: readonly (readonly [string, number])[] = [['petstore.yaml', 19]]
  const large = [['k8s-apps.json', 77], ['k8s-core.json', 248], ['stripe.json', 417], ['discord.json', 242]] as const
  it.each(thoroughly(small, [...small, ...large]))('offers every operation of %s', async (file, count) => {
    const { host, ids, tools } = await offeredOf(file)
    expect([ids.length, tools.length]).toEqual([count, count])
    // A long name ends in a digest.
    const plain = (name: string) => name.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 50)
    expect(tools.map(({ name }) => plain(name)).toSorted()).toEqual(ids.map(plain).toSorted())
    expect(host.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(
      tools.filter(
        ({ description, inputSchema }) => description.length > 4_096 || JSON.stringify(inputSchema).length > 65_536,
      ),
    ).toEqual([])
  })

  it('encodes the forms of Stripe with brackets', ONLY_IN_SOAK, async () => {
    fixture.inHome(textOf('stripe.json'), 'stripe.json')
    fixture.configure({
      stripe: {
        document: 'stripe.json', baseUrl: fixture.shop.url, operations: ['PostCheckoutSessions', 'PostCustomers'],
      },
    })
    const call = await caller(await fixture.open())
    expect(
      await call('PostCustomers', { body: { name: 'Ada', metadata: { order: '7' }, expand: ['sources'] } }),
    ).toMatchObject({ type: 'output' })
    expect(
      await call('PostCheckoutSessions', {
        body: {
          cancel_url: 'no', success_url: 'yes', payment_method_types: ['card'],
          line_items: [{ price: 'p1', quantity: 2 }, { price: 'p2' }],
        },
      }),
    ).toMatchObject({ type: 'output' })
    expect(fixture.shop.seen.map(({ body }) => decodeURIComponent(body))).toEqual([
      'name=Ada&metadata[order]=7&expand[0]=sources',
      'cancel_url=no&success_url=yes&payment_method_types[0]=card'
      + '&line_items[0][price]=p1&line_items[0][quantity]=2&line_items[1][price]=p2',
    ])
  })
})
