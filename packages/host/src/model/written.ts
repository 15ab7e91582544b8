import type { ConfigFile, LayerConfig } from '@bulkhead/contract'

/** From the nearest on. */
const AUTHORS: readonly LayerConfig['layer'][] = ['embedder', 'global']

/**
 * What the embedder and the user wrote. The loader leaves out a setting of a project that loosens one of theirs. A
 * project must not loosen it by a narrower key either, such as a flag for one role or the limits of one extension.
 */
export class Written {
  readonly #configs: readonly ConfigFile[]

  constructor(layers: readonly LayerConfig[]) {
    this.#configs = AUTHORS.flatMap((author) =>
      layers.filter(({ layer }) => layer === author).map(({ config }) => config))
  }

  /** The nearest value that is written. */
  first<T>(read: (config: ConfigFile) => T | undefined): T | undefined {
    for (const config of this.#configs) {
      const value = read(config)
      if (value !== undefined) return value
    }
    return undefined
  }

  get roles(): ReadonlyMap<string, boolean> {
    return new Map(this.#configs.toReversed().flatMap(({ roles = {} }) => Object.entries(roles)))
  }
}

/** A member by a name that others choose: `constructor` must not find the inherited one. */
export const member = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
