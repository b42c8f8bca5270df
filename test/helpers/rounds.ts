/** How often a race is run: `few` times, and `many` times in the nightly tests (`npm run test:all`). */
export const rounds = (few: number, many: number): number => (process.env.TEST_LONG === 'true' ? many : few)
