import type { ExtensionDescriptor } from '@bulkhead/contract'

/**
 * Once its bytes were read they are kept: what runs can be started again, and brought back after a reload that failed, when
 * the files are others by then.
 */
export function keepingBytes(descriptor: ExtensionDescriptor): ExtensionDescriptor {
  const { code } = descriptor
  if (code.kind !== 'files') return descriptor
  let read: ReturnType<typeof code.readFiles> | undefined
  const readFiles = () => {
    read ??= code.readFiles().catch((thrown: unknown) => {
      read = undefined
      throw thrown
    })
    return read
  }
  return { ...descriptor, code: { kind: 'files', readFiles } }
}
