import { listen } from '@bulkhead/inspector'
import { createInspector, type Host } from 'bulkhead'

/** The inspector of a host, on this machine. It only reads. */
export interface OpenInspector extends AsyncDisposable {
  /** Signs in one tab, once. */
  link(): string
}

export async function openInspector(host: Host): Promise<OpenInspector> {
  const inspector = await createInspector(host)
  const listening = await listen((request) => inspector.fetch(request), { port: 0 })
  return {
    link: () => inspector.link(listening.url),
    async [Symbol.asyncDispose]() {
      inspector.close()
      await listening.close()
    },
  }
}
