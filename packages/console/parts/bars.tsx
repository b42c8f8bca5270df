export interface Bar {
  label: string
  /** The part that is drawn strong. */
  value: number
  /** The part that is drawn faint, above it. */
  more?: number
}

const [cell, width, height] = [10, 6, 40]

/** A small bar chart of a few numbers. It is a picture only: show the numbers as a table beside it. */
export function Bars({ bars, tone }: { bars: readonly Bar[]; tone?: 'danger' }) {
  const top = Math.max(1, ...bars.map(({ value, more = 0 }) => value + more))
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(1.5, (count / top) * (height - 1)))
  return (
    <svg
      className="bars"
      data-tone={tone}
      viewBox={`0 0 ${bars.length * cell} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {bars.map(({ label, value, more = 0 }, n) => {
        const [strong, faint] = [heightOf(value), heightOf(more)]
        const x = n * cell + (cell - width) / 2
        return (
          <g key={label}>
            <rect className="bar-ground" x={x} y={height - 1} width={width} height={1} />
            <rect className="bar-more" x={x} y={height - strong - faint} width={width} height={faint} />
            <rect className="bar" x={x} y={height - strong} width={width} height={strong} />
          </g>
        )
      })}
    </svg>
  )
}
