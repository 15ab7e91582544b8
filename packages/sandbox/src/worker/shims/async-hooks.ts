import type { AsyncLocalStorage as NodeStorage } from 'node:async_hooks'
import { shimModule, type ShimHost } from './host.ts'

type Work = (...args: unknown[]) => unknown

/** `node:async_hooks` without hooks: those would see the work of the compartment itself. */
export function asyncModule(host: ShimHost): object {
  const Storage = host.storages
  /** Keeps Node's storage private. */
  class AsyncLocalStorage {
    readonly #storage: NodeStorage<unknown>
    readonly name: string

    constructor({ defaultValue, name = '' }: { readonly defaultValue?: unknown; readonly name?: string } = {}) {
      this.#storage = new Storage({ defaultValue })
      this.name = String(name)
    }

    run(value: unknown, work: Work, ...args: unknown[]): unknown {
      return this.#storage.run(value, () => work(...args))
    }

    exit(work: Work, ...args: unknown[]): unknown {
      return this.#storage.exit(() => work(...args))
    }

    getStore(): unknown {
      return this.#storage.getStore()
    }

    enterWith(value: unknown): void {
      this.#storage.enterWith(value)
    }

    disable(): void {
      this.#storage.disable()
    }

    static bind(work: Work): Work {
      return Storage.bind(work)
    }

    static snapshot(): (work: Work, ...args: unknown[]) => unknown {
      const inside = Storage.snapshot()
      return (work, ...args) => inside(() => work(...args))
    }
  }

  /** Remembers where it was created, and nothing else. */
  class AsyncResource {
    readonly #inside = AsyncLocalStorage.snapshot()
    readonly type: string

    constructor(type: string) {
      this.type = String(type)
    }

    runInAsyncScope(work: Work, self?: unknown, ...args: unknown[]): unknown {
      return this.#inside(() => Reflect.apply(work, self, args))
    }

    bind(work: Work, self?: unknown): Work {
      return (...args) => this.runInAsyncScope(work, self, ...args)
    }

    asyncId(): number {
      return 0
    }

    triggerAsyncId(): number {
      return 0
    }

    emitDestroy(): this {
      return this
    }

    static bind(work: Work, type = 'bound', self?: unknown): Work {
      return new AsyncResource(type).bind(work, self)
    }
  }

  const hook = Object.freeze({ enable: () => hook, disable: () => hook })
  return shimModule(host, 'async_hooks', {
    AsyncLocalStorage, AsyncResource, createHook: () => hook, executionAsyncId: () => 0, triggerAsyncId: () => 0,
    executionAsyncResource: () => ({}),
  }, ['asyncWrapProviders'])
}
