import type { Bundle } from '../../src/pack/source.ts'

/** A bundler that writes this code, and does not know what it was made of. */
export const bundleOf = (code: (main: string) => Promise<string>) => async (main: string): Promise<Bundle> => ({
  code: await code(main),
  origins: {
    main, placeOf: () => undefined, chainTo: () => [], importOf: () => undefined, sourceMapOf: () => undefined,
    declarationOf: async () => undefined,
  },
})
