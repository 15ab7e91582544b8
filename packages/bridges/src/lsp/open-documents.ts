import type { JsonRpcPeer } from './json-rpc.ts'

export interface OpenDocument {
  readonly uri: string
  readonly version: number
}

const MOST_DOCUMENTS = 64

/** The documents that a server has open, with the text it knows. The ones used last stay open. */
export class OpenDocuments {
  readonly #peer: Pick<JsonRpcPeer, 'notify'>
  readonly #open = new Map<string, OpenDocument & { readonly text: string }>()

  constructor(peer: Pick<JsonRpcPeer, 'notify'>) {
    this.#peer = peer
  }

  /** Opens a document or sends its new text. `always`: also an unchanged text, so that the server looks at it again. */
  sync(uri: string, languageId: string, text: string, always = false): OpenDocument {
    const known = this.#open.get(uri)
    const isSame = known?.text === text && !always
    const document = known && isSame ? known : { uri, text, version: (known?.version ?? 0) + 1 }
    this.#open.delete(uri)
    this.#open.set(uri, document)
    const { version } = document
    if (known === undefined) {
      this.#peer.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } })
      this.#closeOldest()
    } else if (!isSame) {
      this.#peer.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] })
    }
    return document
  }

  /** The server reads the file again. */
  close(uri: string): void {
    if (this.#open.delete(uri)) this.#peer.notify('textDocument/didClose', { textDocument: { uri } })
  }

  #closeOldest(): void {
    const [oldest] = this.#open.keys()
    if (this.#open.size > MOST_DOCUMENTS && oldest !== undefined) this.close(oldest)
  }
}
