import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError, requireOptions } from '@bulkhead/contract'
import { forms } from '@bulkhead/kit/options'
import { withoutSecrets } from './command-environment.ts'
import { type CreateHostOptions, type Host, TENANT_OPTIONS, type TenantOptions } from './host-types.ts'

/** Opens the host of a tenant. `options` are complete. */
export type OpenTenantHost = (options: CreateHostOptions & { readonly tenant: string }, onClose: () => void) => Promise<Host>

/** How long the host of a tenant stays without an open session. */
const IDLE_MS = 60_000

const GIVEN = { id: forms.text, options: forms.object }

interface OpenTenant {
  readonly host: Promise<Host>
  readonly sessions: Set<string>
  idle: NodeJS.Timeout | undefined
}

/** The hosts of tenants that one host has opened. One without sessions closes after a while. */
export class TenantHosts {
  readonly #open = new Map<string, OpenTenant>()
  readonly #ends = new Set<Promise<unknown>>()
  readonly #options: CreateHostOptions
  readonly #make: OpenTenantHost
  readonly #idleMs: number
  #isClosed = false

  /** `options`: of the host that opens them. */
  constructor(options: CreateHostOptions, make: OpenTenantHost, idleMs = IDLE_MS) {
    this.#options = options
    this.#make = make
    this.#idleMs = idleMs
  }

  async host(id: string, options: TenantOptions = {}): Promise<Host> {
    requireOptions('forTenant', { id, options }, GIVEN, 'id')
    requireOptions('forTenant', options, TENANT_OPTIONS)
    if (this.#isClosed) throw closed()
    const tenant = this.#open.get(id) ?? this.#begin(id, options)
    const host = await tenant.host
    if (this.#isClosed) throw closed()
    // A caller that waits has as much time as one that comes later.
    this.#rest(tenant)
    return host
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const tenant of [...this.#open.values()]) this.#end(tenant)
    while (this.#ends.size > 0) await Promise.all(this.#ends)
  }

  #begin(id: string, options: TenantOptions): OpenTenant {
    const { promise, resolve, reject } = Promise.withResolvers<Host>()
    const tenant: OpenTenant = { host: promise, sessions: new Set(), idle: undefined }
    const forget = () => {
      clearTimeout(tenant.idle)
      if (this.#open.get(id) === tenant) this.#open.delete(id)
    }
    this.#open.set(id, tenant)
    const make = async () => {
      const host = await this.#make(await this.#optionsOf(id, options), forget)
      this.#follow(host, tenant)
      try {
        await options.onOpen?.(host)
      } catch (thrown) {
        await host.close()
        throw thrown
      }
      return host
    }
    make().then(resolve, (thrown: unknown) => {
      forget()
      reject(thrown)
    })
    return tenant
  }

  /** What the main host has, without what could be another tenant's: its trust decision, and secrets. */
  async #optionsOf(id: string, { onOpen: _, ...own }: TenantOptions): Promise<CreateHostOptions & { readonly tenant: string }> {
    const { trust: _trust, env = process.env, workspace, ...shared } = this.#options
    const folder = own.workspace ?? join(workspace, id)
    // A name that no tenant can have fails later, and may be a path until then.
    if (own.workspace === undefined && /^[a-z0-9][a-z0-9_-]*$/.test(id)) await mkdir(folder, { recursive: true, mode: 0o700 })
    return { ...shared, trust: 'declined', env: withoutSecrets(env), ...own, workspace: folder, tenant: id }
  }

  #follow(host: Host, tenant: OpenTenant): void {
    host.on((event) => {
      if (event.type === 'SessionOpened') tenant.sessions.add(event.sessionId)
      else if (event.type === 'SessionClosed') tenant.sessions.delete(event.sessionId)
      this.#rest(tenant)
    }, ['SessionOpened', 'SessionClosed'])
  }

  #rest(tenant: OpenTenant): void {
    clearTimeout(tenant.idle)
    if (tenant.sessions.size > 0) return
    tenant.idle = setTimeout(() => this.#end(tenant), this.#idleMs).unref()
  }

  #end(tenant: OpenTenant): void {
    const end = tenant.host.then((host) => host.close(), () => undefined).finally(() => this.#ends.delete(end))
    this.#ends.add(end)
  }
}

const closed = () => new BulkheadError('HostClosed', 'The host is closed.')
