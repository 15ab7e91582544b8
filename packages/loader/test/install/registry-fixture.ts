import type { AddressInfo } from 'node:net'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Json } from '@bulkhead/kit/json'

interface Published {
  readonly tarball: Uint8Array
  readonly attestations?: Json
  /** Overrides the correct metadata. */
  readonly dist?: Record<string, unknown>
  readonly deprecated?: string
}

/** An npm registry on loopback. Records all requests. */
export class RegistryFixture {
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[] = []
  /** Redirects by path. */
  readonly redirects = new Map<string, string>()
  readonly #packages = new Map<string, Map<string, Published>>()
  readonly #server: Server
  readonly url: string

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
    server.on('request', (request, response) => this.#answer(request, response))
  }

  static async start(): Promise<RegistryFixture> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new RegistryFixture(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  }

  publish(name: string, version: string, published: Published): void {
    this.#packages.set(name, (this.#packages.get(name) ?? new Map()).set(version, published))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    this.requests.push({ path, authorization: request.headers.authorization })
    const [kind, name = '', version = ''] = path.split('|')
    const found = this.#packages.get(name)?.get(version)
    const location = this.redirects.get(path)
    if (location !== undefined) response.writeHead(302, { location }).end()
    else if (kind === 'tarball' && found) response.end(found.tarball)
    else if (kind === 'attestations' && found?.attestations !== undefined) response.end(
      JSON.stringify(found.attestations),
    )
    else if (this.#packages.has(path)) response.end(JSON.stringify(this.#document(path)))
    else response.writeHead(404).end('{}')
  }

  #document(name: string): object {
    const versions = [...this.#packages.get(name)!]
    return {
      name, 'dist-tags': { latest: versions.at(-1)![0] },
      versions: Object.fromEntries(versions.map(([version, { tarball, attestations, dist, deprecated }]) => [version, {
        name, version, deprecated,
        dist: {
          tarball: `${this.url}tarball|${encodeURIComponent(name)}|${version}`,
          integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
          ...(attestations !== undefined && {
            attestations: { url: `${this.url}attestations|${encodeURIComponent(name)}|${version}` },
          }),
          ...dist,
        },
      }])),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}
