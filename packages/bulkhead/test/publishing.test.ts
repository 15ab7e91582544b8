// @module-tag long
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WALLS } from '../../../scripts/machine.ts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'
import { useThreads } from './extension-folder.ts'
import { afterWallWarning } from './wall-warning.ts'

const guide = (name: string): string => readFileSync(join(import.meta.dirname, '../../../docs/guides', name), 'utf8')
const block = (info: string, page = 'publishing.md'): string =>
  new RegExp('^```' + info.replace('.', '\\.') + '\\n([\\s\\S]*?)^```', 'm').exec(guide(page))![1]!

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-publishing-')) })
afterEach(() => rmSync(folder, { recursive: true }))

it(
  'the example of docs/guides/publishing.md conforms, uses a secret that it cannot see, and writes its file', WALLS,
  async () => {
    const requests: (string | undefined)[] = []
    const server = createServer(({ url, headers }, response) => {
      requests.push(`${url} ${headers.authorization}`)
      response.writeHead(url === '/v1/Atlantis' ? 404 : 200, { 'content-type': 'application/json' })
      response.end(url === '/v1/Limbo' ? '<html>' : JSON.stringify({ sky: 'clear', echoed: headers.authorization }))
    }).listen(0, 'localhost')
    await once(server, 'listening')
    try {
      const host = `localhost:${(server.address() as AddressInfo).port}`
      const here = (text: string) =>
        text.replaceAll('https://api.weather.example', `http://${host}`).replaceAll('api.weather.example', host)
      mkdirSync(join(folder, 'weather-tool/node_modules'), { recursive: true })
      cpSync(
        realpathSync(join(import.meta.dirname, '../../contract/node_modules/zod')),
        join(folder, 'weather-tool/node_modules/zod'), { recursive: true },
      )
      writeFileSync(join(folder, 'weather-tool/package.json'), block('json package.json'))
      writeFileSync(join(folder, 'weather-tool/index.ts'), here(block('ts index.ts')))
      expect(await inside(['pack', './weather-tool'], folder)).toMatchObject({ code: 0, stderr: '' })
      mkdirSync(join(folder, 'weather-tool/fixtures'))
      writeFileSync(join(folder, 'weather-tool/fixtures/http.json'), here(block('json fixtures/http.json')))
      const checks = thoroughly('manifest,package,call-succeeds,examples-outcome', 'manifest,package,calls,powers')
      expect(await inside(['conformance', './weather-tool', '--quiet', '--only', checks], folder)).toMatchObject({
        code: 0, stderr: '',
      })
      expect(await inside(['install', './weather-1.0.0.tgz', '--yes'], folder)).toMatchObject({ code: 0 })

      const forecast = (city: string) =>
        inside(['call', 'forecast', '--mode', 'yolo', '--args', JSON.stringify({ city })], folder, {
          WEATHER_TOKEN: 'a-secret-of-the-operator',
        })
      const result = await forecast('Oslo')
      expect(afterWallWarning(result.stderr)).toBe('')
      expect(JSON.parse(result.stdout)).toMatchObject({ city: 'Oslo', weather: { sky: 'clear' } })
      expect(result.stdout + result.stderr).not.toContain('a-secret-of-the-operator')
      expect(JSON.parse(readFileSync(join(folder, 'weather/Oslo.json'), 'utf8'))).toMatchObject({ sky: 'clear' })
      const { code, stderr } = await forecast('Atlantis')
      expect([code, afterWallWarning(stderr)]).toEqual([
        1, expect.stringMatching(/^NotFound There is no city "Atlantis"/),
      ])
      expect(requests).toEqual([
        '/v1/Oslo Bearer a-secret-of-the-operator', '/v1/Atlantis Bearer a-secret-of-the-operator',
      ])
      const failed = await inside(
        ['call', './weather-tool', 'forecast', '--mode', 'yolo', '--args', '{"city":"Limbo"}'], folder,
        { WEATHER_TOKEN: 'a-secret-of-the-operator' },
      )
      expect(afterWallWarning(failed.stderr)).toBe(block('text').replaceAll('(weather/', '(weather-tool/'))
    } finally {
      server.close()
    }
  },
)

it('the example of docs/guides/libraries.md is packed with its libraries, and they use what it declares', async () => {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(['crow', 'owl', request.url]))
  }).listen(0, 'localhost')
  await once(server, 'listening')
  try {
    const host = `localhost:${(server.address() as AddressInfo).port}`
    const here = (text: string) =>
      text.replaceAll('https://api.birds.example', `http://${host}`).replaceAll('api.birds.example', host)
    const at = join(folder, 'bird-list')
    mkdirSync(join(at, 'node_modules'), { recursive: true })
    for (const name of ['ky', 'js-yaml']) {
      cpSync(
        realpathSync(join(import.meta.dirname, '../../sandbox/node_modules', name)), join(at, 'node_modules', name),
        { recursive: true },
      )
    }
    writeFileSync(join(at, 'bulkhead.json'), here(block('json bulkhead.json', 'libraries.md')))
    writeFileSync(join(at, 'index.js'), here(block('js index.js', 'libraries.md')))
    mkdirSync(join(folder, 'birds'))
    useThreads(join(folder, 'home/.bulkhead'))
    writeFileSync(join(folder, 'birds/ignore.txt'), 'owl\n')
    expect(await inside(['pack', './bird-list'], folder)).toMatchObject({ code: 0, stderr: '' })
    expect(await inside(['install', './bird-list-1.0.0.tgz', '--yes'], folder)).toMatchObject({ code: 0 })
    const { stdout, stderr } = await inside(
      ['call', 'list_birds', '--mode', 'yolo', '--args', '{"region":"europe"}'], folder, { BIRDS_API_VERSION: 'v2' })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({ region: 'europe', listed: 2 })
    expect(readFileSync(join(folder, 'birds/list.yaml'), 'utf8')).toBe(
      'region: europe\nbirds:\n  - crow\n  - /v2/europe\n',
    )
  } finally {
    server.close()
  }
})
