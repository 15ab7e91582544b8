import { RememberedFiles } from '../../../connected/remembered-files.ts'
import { readCatalog, type Catalog } from './catalog.ts'

/** What servers offered when they were last asked, so that their tools are known without starting them. Contract: never throws. */
export class CatalogFiles {
  readonly #files: RememberedFiles

  constructor(folder: string | undefined) {
    this.#files = new RememberedFiles(folder)
  }

  read(identity: string): Catalog | undefined {
    const { version, tools } = this.#files.read(identity) ?? {}
    return typeof version === 'string' && Array.isArray(tools) ? readCatalog(version, tools) : undefined
  }

  write(identity: string, { version, tools }: Catalog): void {
    this.#files.write(identity, { version, tools: tools.map(({ definition }) => definition) })
  }
}
