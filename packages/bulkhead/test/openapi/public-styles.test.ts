import { readFileSync } from 'node:fs'
import type { Json } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { publicData } from '../../../../scripts/public-data.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { caller, OpenapiFixture, namesOf } from './fixture.ts'

let fixture: OpenapiFixture
beforeEach(async () => {
  fixture = await OpenapiFixture.create()
})
afterEach(() => fixture.remove())

const COLORS = ['blue', 'black', 'brown']
const RGB = { R: 100, G: 200, B: 150 }

/** The arguments of each operation, and the URL and body that must arrive. */
const SENT: Readonly<Record<string, readonly [args: object, url: string, body?: string]>> = {
  q_form_true_empty: [{ color: '' }, '/q/form/true/empty?color='],
  q_form_true_str: [{ color: 'blue' }, '/q/form/true/str?color=blue'],
  q_form_true_arr: [{ color: COLORS }, '/q/form/true/arr?color=blue&color=black&color=brown'],
  q_form_true_obj: [{ color: RGB }, '/q/form/true/obj?R=100&G=200&B=150'],
  q_form_false_str: [{ color: 'blue' }, '/q/form/false/str?color=blue'],
  q_form_false_arr: [{ color: COLORS }, '/q/form/false/arr?color=blue,black,brown'],
  q_form_false_obj: [{ color: RGB }, '/q/form/false/obj?color=R,100,G,200,B,150'],
  q_spaceDelimited_false_arr: [{ color: COLORS }, '/q/spaceDelimited/false/arr?color=blue%20black%20brown'],
  q_pipeDelimited_false_arr: [{ color: COLORS }, '/q/pipeDelimited/false/arr?color=blue%7Cblack%7Cbrown'],
  q_spaceDelimited_false_obj: [{ color: RGB }, '/q/spaceDelimited/false/obj?color=R%20100%20G%20200%20B%20150'],
  q_pipeDelimited_false_obj: [{ color: RGB }, '/q/pipeDelimited/false/obj?color=R%7C100%7CG%7C200%7CB%7C150'],
  q_deepObject_true_obj: [{ color: RGB }, '/q/deepObject/true/obj?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
  p_simple_false_str: [{ color: 'blue' }, '/p/simple/false/str/blue'],
  p_simple_false_arr: [{ color: COLORS }, '/p/simple/false/arr/blue,black,brown'],
  p_simple_false_obj: [{ color: RGB }, '/p/simple/false/obj/R,100,G,200,B,150'],
  p_simple_true_obj: [{ color: RGB }, '/p/simple/true/obj/R=100,G=200,B=150'],
  h_false_str: [{ 'X-Color': 'blue' }, '/h/false/str', 'blue'],
  h_false_arr: [{ 'X-Color': COLORS }, '/h/false/arr', 'blue,black,brown'],
  h_false_obj: [{ 'X-Color': RGB }, '/h/false/obj', 'R,100,G,200,B,150'],
  h_true_obj: [{ 'X-Color': RGB }, '/h/true/obj', 'R=100,G=200,B=150'],
  c_str: [{ color: 'blue; a=b' }, '/c/str', 'color=blue%3B%20a%3Db'],
  p_label_false_str: [{ color: 'blue' }, '/p/label/false/str/.blue'],
  p_matrix_false_str: [{ color: 'blue' }, '/p/matrix/false/str/;color=blue'],
  q_content_json: [{ filter: RGB }, '/q/content?filter=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D'],
  q_reserved_default: [{ u: 'a/b?c=d&e' }, '/q/res?u=a%2Fb%3Fc%3Dd%26e'],
  q_allowReserved: [{ u: 'a/b?c:d&e' }, '/q/ares?u=a/b?c:d%26e'],
  q_bool_num: [{ n: 1.5 }, '/q/bn?n=1.5'],
  p_slash: [{ id: 'a/b' }, '/p/s/a%2Fb'],
  q_bracket_name: [{ ids__: ['a', 'b'] }, '/q/br?ids%5B%5D=a&ids%5B%5D=b'],
  q_deep_nested: [
    { f: { created: { gte: 1 }, tags: ['a', 'b'] } },
    '/q/dn?f%5Bcreated%5D%5Bgte%5D=1&f%5Btags%5D%5B0%5D=a&f%5Btags%5D%5B1%5D=b',
  ],
  b_json: [{ body: { a: 1 } }, '/b/json', '{"a":1}'],
  b_jsonarr: [{ body: ['a'] }, '/b/jsonarr', '["a"]'],
  b_vnd: [{ body: { a: 1 } }, '/b/vnd', '{"a":1}'],
  b_merge: [{ body: { a: null } }, '/b/merge', '{"a":null}'],
  b_charset: [{ body: {} }, '/b/charset', '{}'],
  b_star: [{ body: {} }, '/b/star', '{}'],
  b_form: [
    { body: { a: 'x y', b: COLORS, c: RGB } }, '/b/form',
    'a=x%20y&b=blue&b=black&b=brown&c=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D',
  ],
  b_form_deep: [
    { body: { c: RGB, l: COLORS } }, '/b/form_deep', 'c%5BR%5D=100&c%5BG%5D=200&c%5BB%5D=150&l=blue&l=black&l=brown',
  ],
  b_text: [{ body: 'a\nb' }, '/b/text', 'a\nb'],
  b_multi: [
    { body: { a: 'x "y"', f: { base64: 'AAEC', filename: 'a.bin' } } }, '/b/multi',
    [
      '--BOUNDARY', 'content-disposition: form-data; name="a"', '', 'x "y"', '--BOUNDARY',
      'content-disposition: form-data; name="f"; filename="a.bin"', 'content-type: application/octet-stream', '',
      '\0\x01\x02', '--BOUNDARY--', '',
    ].join('\r\n'),
  ],
  b_multi_nofile: [
    { body: { a: 'x' } }, '/b/multi_nofile',
    '--BOUNDARY\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n--BOUNDARY--\r\n',
  ],
  b_octet: [{ body: { text: 'raw' } }, '/b/octet', 'raw'],
  b_xml: [{ body: '<a>x</a>' }, '/b/xml', '<a>x</a>'],
}

/** What the specification prescribes for the places of a parameter, as [style, explode, value, sent]. */
const primitive = 'blue'
const TABLE: Readonly<
  Record<
    'path' | 'query' | 'header' | 'cookie',
    readonly (readonly [style: string, explode: boolean, value: Json, sent: string])[]
  >
> = {
  path: [
    ['matrix', false, '', ';color'], ['matrix', false, primitive, ';color=blue'],
    ['matrix', false, COLORS, ';color=blue,black,brown'], ['matrix', false, RGB, ';color=R,100,G,200,B,150'],
    ['matrix', true, primitive, ';color=blue'], ['matrix', true, COLORS, ';color=blue;color=black;color=brown'],
    ['matrix', true, RGB, ';R=100;G=200;B=150'], ['label', false, primitive, '.blue'],
    ['label', false, COLORS, '.blue,black,brown'], ['label', false, RGB, '.R,100,G,200,B,150'],
    ['label', true, COLORS, '.blue.black.brown'], ['label', true, RGB, '.R=100.G=200.B=150'],
    ['simple', false, COLORS, 'blue,black,brown'], ['simple', true, COLORS, 'blue,black,brown'],
    ['simple', true, RGB, 'R=100,G=200,B=150'],
  ],
  query: [
    ['form', true, COLORS, 'color=blue&color=black&color=brown'], ['form', false, RGB, 'color=R,100,G,200,B,150'],
    ['form', true, RGB, 'R=100&G=200&B=150'], ['spaceDelimited', false, COLORS, 'color=blue%20black%20brown'],
    ['pipeDelimited', false, RGB, 'color=R%7C100%7CG%7C200%7CB%7C150'],
    ['deepObject', true, { R: 100, in: ['x'] }, 'color%5BR%5D=100&color%5Bin%5D%5B0%5D=x'],
  ],
  header: [
    ['simple', false, COLORS, 'blue,black,brown'], ['simple', false, RGB, 'R,100,G,200,B,150'],
    ['simple', true, RGB, 'R=100,G=200,B=150'],
  ],
  cookie: [
    ['form', true, primitive, 'color=blue'], ['form', false, COLORS, 'color=blue,black,brown'],
    ['form', false, RGB, 'color=R,100,G,200,B,150'], ['form', true, COLORS, 'color=blue; color=black; color=brown'],
    ['form', true, RGB, 'R=100; G=200; B=150'],
  ],
}
const CASES = Object.entries(TABLE).flatMap(([place, rows]) =>
  rows.map(([style, explode, value, sent], at) => ({ id: `${place}_${at}`, place, style, explode, value, sent })),
)

const tableDocument = {
  openapi: '3.1.0', info: { title: 'Table', version: '1.0.0' },
  paths: Object.fromEntries(
    CASES.map(({ id, place, style, explode }) => [
      `/${id}${place === 'path' ? '/{color}' : ''}`,
      {
        get: {
          operationId: id, parameters: [{ name: 'color', in: place, required: true, style, explode, schema: {} }],
        },
      },
    ]),
  ),
}

describe('parameters and bodies', () => {
  it('arrive at a server as the table of the specification says', async () => {
    fixture.inHome(tableDocument, 'table.json')
    fixture.configure({ table: { document: 'table.json', baseUrl: fixture.shop.url } })
    const call = await caller(await fixture.open())
    const arrived: string[] = []
    for (const { id, place, value } of CASES) {
      expect(await call(id, { color: value }), id).toMatchObject({ type: 'output' })
      const { url, headers } = fixture.shop.seen.at(-1)!
      const places = {
        path: url.split('/')[2], query: url.split('?')[1], header: headers['color'], cookie: headers.cookie,
      }
      arrived.push(`${id} ${places[place as keyof typeof places]}`)
    }
    expect(arrived).toEqual(CASES.map(({ id, sent }) => `${id} ${sent}`))
  })

  it('are sent as specified with one operation per style', { ...needs('public test data'), ...LONG }, async () => {
    fixture.inHome(readFileSync(publicData('openapi/styles.json')!, 'utf8'), 'styles.json')
    fixture.configure({ styles: { document: 'styles.json', baseUrl: fixture.shop.url } })
    const host = await fixture.open()
    expect([namesOf(host), host.diagnostics]).toEqual([Object.keys(SENT).toSorted(), []])
    const call = await caller(host)
    for (const [name, [args, url, carried]] of Object.entries(SENT)) {
      expect(await call(name, args), name).toMatchObject({ type: 'output' })
      const { url: arrived, body, headers } = fixture.shop.seen.at(-1)!
      const boundary = /boundary=(\S+)$/.exec(headers['content-type'] ?? '')?.[1] ?? 'BOUNDARY'
      expect([arrived, body.replaceAll(boundary, 'BOUNDARY') || headers['x-color'] || headers.cookie], name).toEqual([
        url, carried,
      ])
    }
  })
})
